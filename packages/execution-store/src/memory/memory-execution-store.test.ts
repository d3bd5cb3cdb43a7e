import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { executionStoreContract } from '../testing/execution-store-contract.js';
import { acme, acceptedCallAt, outcomeAt } from '../testing/sample-executions.js';
import { MemoryExecutionStore } from './memory-execution-store.js';

executionStoreContract('memory', async (clock, limits) => {
  const store = new MemoryExecutionStore({ ...limits, clock });
  await store.start();
  return { store, runMaintenance: () => clock.advance(0), close: () => store.stop() };
});

describe('MemoryExecutionStore', () => {
  it('removes expired executions by itself, and clears its timer on stop', async () => {
    const clock = new FakeClock();
    const store = new MemoryExecutionStore({ ttlMs: 1_000, deadLetterTtlMs: 1_000, maxBytes: 10, clock });
    await store.start();
    const accepted = acceptedCallAt(clock.now());
    await store.finish(accepted, outcomeAt(clock.now()));
    await clock.advance(6_000);
    expect(await store.find(acme, accepted.executionId)).toBeUndefined();
    // While an execution is stored, expired or not, its first end stands. A new end counts only after it was removed.
    await store.finish(accepted, outcomeAt(clock.now(), { status: 'cancelled' }));
    expect((await store.find(acme, accepted.executionId))?.outcome.status).toBe('cancelled');
    await store.stop();
    expect(clock.pending).toBe(0);
  });
});
