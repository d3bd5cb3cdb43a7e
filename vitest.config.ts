import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const sources = ['packages/*/src', 'apps/*/src', 'tests/simulation'];
const unit = sources.map((folder) => `${folder}/**/*.test.ts`);
const integration = sources.map((folder) => `${folder}/**/*.integration.test.ts`);
const stories = [...sources, 'apps/*/test'].map((folder) => `${folder}/**/*.story.test.ts`);
const long = [...sources, 'apps/*/test'].map((folder) => `${folder}/**/*.long.test.ts`);
/** Files that start processes, databases and sockets wait for them a third of their time: one more than there are cores. */
const waitingFiles = availableParallelism() + 1;

/** Node loads other packages as they are built; transformed by Vite they would take a third of the CPU of an integration test. */
const server = { deps: { external: [/\/dist\//] } };

/** `npm test` runs every project but `stories` and `long`, which `npm run test:stories` and `npm run test:long` run. */
export default defineConfig({
  test: {
    reporters: ['default', './tests/setup/closing-line.ts'],
    projects: [
      // Pure and quick: one process for all of them.
      {
        test: {
          name: 'unit',
          server,
          include: [...unit, 'bench/**/*.test.ts'],
          exclude: [...integration, ...stories, ...long],
          pool: 'threads',
          isolate: false,
          testTimeout: 180_000, // ends a test that hangs; a busy machine takes much longer than usual
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          name: 'architecture',
          server,
          include: ['tests/architecture/**/*.test.ts', 'tests/docs/**/*.test.ts', 'tests/tiers/**/*.test.ts'],
          pool: 'threads',
          testTimeout: 120_000, // some read every file
          hookTimeout: 180_000,
        },
      },
      // Real databases, sockets and child processes. Files that share a process load our packages once.
      {
        test: {
          name: 'integration',
          server,
          isolate: false,
          maxWorkers: waitingFiles,
          sequence: { groupOrder: 1 },
          include: [...integration, 'apps/*/test/**/*.test.ts'],
          exclude: [...stories, ...long],
          globalSetup: './tests/setup/postgres.ts',
          pool: 'forks',
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      // The whole platform, started as a user starts it.
      {
        test: {
          name: 'e2e',
          server,
          maxWorkers: waitingFiles, // as above: projects of one group share their workers
          sequence: { groupOrder: 1 },
          include: ['tests/e2e/**/*.test.ts', 'tests/compat/**/*.test.ts'],
          pool: 'forks',
          testTimeout: 300_000,
          hookTimeout: 180_000,
        },
      },
      // The same platform over minutes: killed, restarted and frozen.
      {
        test: {
          name: 'stories',
          server,
          maxWorkers: waitingFiles,
          sequence: { groupOrder: 2 },
          include: [...stories, 'tests/stories/**/*.test.ts'],
          globalSetup: './tests/setup/postgres.ts',
          pool: 'forks',
          testTimeout: 300_000,
          hookTimeout: 180_000,
        },
      },
      // What takes longer still: thousands of messages under kills, clones, packed packages, more seeds.
      {
        test: {
          name: 'long',
          server,
          maxWorkers: waitingFiles,
          sequence: { groupOrder: 3 },
          env: { DROVER_TEST_TIER: 'long' },
          include: [...long, 'tests/long/**/*.test.ts', 'tests/stories/*-ledger.test.ts'],
          globalSetup: './tests/setup/postgres.ts',
          pool: 'forks',
          testTimeout: 900_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
