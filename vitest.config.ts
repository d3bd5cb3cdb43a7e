import { defineConfig } from 'vitest/config';

const sources = ['packages/*/src', 'apps/*/src'];
const unit = sources.map((folder) => `${folder}/**/*.test.ts`);
const integration = sources.map((folder) => `${folder}/**/*.integration.test.ts`);

export default defineConfig({
  test: {
    reporters: ['default', './tests/setup/closing-line.ts'],
    projects: [
      // Pure and quick: one process for all of them.
      {
        test: {
          name: 'unit',
          include: [...unit, 'bench/**/*.test.ts'],
          exclude: integration,
          pool: 'threads',
          isolate: false,
        },
      },
      // Real databases, sockets and child processes. Much of it waits: two at a time, whatever the machine.
      {
        test: {
          name: 'integration',
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
          include: [...integration, 'apps/*/test/**/*.test.ts'],
          globalSetup: './tests/setup/postgres.ts',
          pool: 'forks',
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      // The whole platform, started as a user starts it.
      {
        test: {
          name: 'e2e',
          maxWorkers: 1, // each is a whole platform
          sequence: { groupOrder: 2 },
          include: ['tests/e2e/**/*.test.ts', 'tests/compat/**/*.test.ts'],
          pool: 'forks',
          testTimeout: 180_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'architecture',
          include: ['tests/architecture/**/*.test.ts', 'tests/docs/**/*.test.ts'],
          pool: 'threads',
        },
      },
    ],
  },
});
