import path from 'node:path';
import { systemClock } from '@drover/service-kit';
import { Child } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openPostgresStores, type PostgresStores } from '../testing/postgres-stores.js';
import { acme } from '../testing/sample-executions.js';

let stores: PostgresStores;
const children: Child[] = [];

beforeEach(async () => {
  stores = await openPostgresStores(systemClock);
});
afterEach(async () => {
  for (const child of children.splice(0)) await child.end();
  await stores.close();
});

/** Runs from the build output. */
const program = path.resolve(import.meta.dirname, '../../dist/testing/execution-victim-process.js');

describe('PostgresExecutionStore, when its process is killed', () => {
  it('loses nothing that it acknowledged, and recovers nothing that is finished', async () => {
    const accepted = new Set<string>();
    const finished = new Set<string>();
    const attempts = new Map<string, number>();
    for (let round = 1; round <= 3; round += 1) {
      const child = new Child(process.execPath, [
        program,
        stores.test.url.reveal(),
        String(round),
        String(round * 1_000_000),
      ]);
      children.push(child);
      const wanted = 400 * round;
      await child.line(new RegExp(`^recovered \\d+$`));
      await new Promise<void>((resolve, reject) => {
        void child.exited.then(() => reject(new Error(child.output)));
        child.process.stdout?.on('data', () => child.stdout.length > wanted && resolve());
      });
      child.kill('SIGKILL');
      await child.exited;
      for (const line of child.stdout) {
        const [what, id = '', used] = line.split(' ');
        if (what === 'accepted') accepted.add(id);
        if (what === 'finished') finished.add(id);
        if (what === 'retried') attempts.set(id, 1);
        if (what === 'again') {
          expect(finished.has(id)).toBe(false);
          expect(Number(used)).toBeGreaterThan(attempts.get(id) ?? 0);
          attempts.set(id, Number(used));
        }
      }
      await stores.raiseTokens();
    }
    const { store, recovered } = await stores.open();
    const unfinished = new Set(recovered.unfinished.map(({ accepted }) => accepted.executionId));
    expect(accepted.size).toBeGreaterThan(500);
    expect(finished.size).toBeGreaterThan(300);
    const archived = new Set<string>();
    for (let after: string | undefined; ; ) {
      const page = await store.list({ tenantId: acme, limit: 1_000, oldestFirst: true, ...(after && { after }) });
      for (const { accepted } of page) archived.add(accepted.executionId);
      after = page.at(-1)?.accepted.executionId;
      if (page.length === 0) break;
    }
    expect([...finished].filter((id) => !archived.has(id))).toEqual([]);
    expect([...accepted].filter((id) => !archived.has(id) && !unfinished.has(id))).toEqual([]);
    expect([...unfinished].filter((id) => archived.has(id))).toEqual([]);
    for (const { accepted, attempts: used } of recovered.unfinished) {
      expect(used).toBeGreaterThan(attempts.get(accepted.executionId) ?? 0);
    }
  });
});
