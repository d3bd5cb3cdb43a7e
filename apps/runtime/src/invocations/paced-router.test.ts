import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import type { RoutableWorker } from '../workers/routable-worker.js';
import { InvocationRouter, longestWaitMs } from './invocation-router.js';
import { LeastLoaded } from './policies/least-loaded.js';
import { RoundRobin } from './policies/round-robin.js';

const patient = { signal: undefined, dueMs: Number.POSITIVE_INFINITY };

/** A worker that may be handed `window` calls at a time. */
class PacedWorker implements RoutableWorker {
  readonly codeVersion = 'v1';
  readonly limit = 10;
  readonly id: string;
  window = 1;

  constructor(id: string) {
    this.id = id;
  }

  readonly mayTake = (reserved: number): boolean => reserved < this.window;
}

describe.each([
  ['least loaded', () => new LeastLoaded<PacedWorker>()],
  ['round robin', () => new RoundRobin<PacedWorker>()],
])('workers that compute, by %s', (_, policy) => {
  const open = (maxWaiting = 5) => {
    const clock = new FakeClock();
    const router = new InvocationRouter<PacedWorker>({ policy, clock, maxWaiting });
    const saturation: boolean[] = [];
    router.onSaturation((isSaturated) => void saturation.push(isSaturated));
    return { router, clock, saturation };
  };

  it('are handed what they can begin, and a worker that comes later gets calls that wait', async () => {
    const { router } = open();
    router.add(new PacedWorker('a'));
    const first = router.reserve();
    const served: string[] = [];
    const waiting = [1, 2, 3].map(async () => {
      served.push((await router.wait(patient))?.worker.id ?? 'none');
    });
    expect([first?.worker.id, router.waiting, router.isPaced]).toEqual(['a', 3, true]);
    router.add(new PacedWorker('b'));
    router.add(new PacedWorker('c'));
    await Promise.all(waiting.slice(0, 2));
    expect(served).toEqual(['b', 'c']);
    first?.release();
    await waiting[2];
    expect(served).toEqual(['b', 'c', 'a']);
  });

  it('get more calls as soon as their pace allows it', async () => {
    const { router } = open();
    const worker = new PacedWorker('a');
    router.add(worker);
    router.reserve();
    const waiting = router.wait(patient);
    worker.window = 2;
    router.refresh(worker);
    expect((await waiting)?.worker.id).toBe('a');
    expect([router.waiting, router.reserve()]).toEqual([0, undefined]);
  });

  it('pause no listener while calls wait for slots that are free', () => {
    const { router, saturation } = open(20);
    router.add(new PacedWorker('a'));
    router.reserve();
    for (let call = 0; call < 8; call += 1) void router.wait(patient);
    expect(saturation).toEqual([false]);
    void router.wait(patient);
    expect(saturation).toEqual([false, true]);
  });

  it('let as many calls wait as they would have been handed without a pace', () => {
    const { router } = open(5);
    router.add(new PacedWorker('a'));
    router.reserve();
    const waits = Array.from({ length: 15 }, () => router.wait(patient));
    expect(waits.filter((wait) => wait !== undefined)).toHaveLength(9 + 5);
  });

  it('leave no call waiting for ever when the last one goes', async () => {
    const { router, clock } = open();
    const worker = new PacedWorker('a');
    router.add(worker);
    router.reserve();
    const waiting = router.wait(patient);
    router.remove(worker);
    await clock.advance(longestWaitMs);
    expect(await waiting).toBeUndefined();
    expect(clock.pending).toBe(0);
  });
});
