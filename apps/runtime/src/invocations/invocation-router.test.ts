import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import type { RoutableWorker } from '../workers/routable-worker.js';
import { InvocationRouter } from './invocation-router.js';
import { LeastLoaded } from './policies/least-loaded.js';
import type { Reservation } from './routing-policy.js';

const worker = (id: string, codeVersion = 'v1', limit = 1): RoutableWorker => ({ id, codeVersion, limit });
const patient = { signal: undefined, dueMs: Number.POSITIVE_INFINITY };

function open(maxWaiting = 10): {
  readonly router: InvocationRouter<RoutableWorker>;
  readonly saturation: boolean[];
  readonly clock: FakeClock;
} {
  const clock = new FakeClock();
  const saturation: boolean[] = [];
  const router = new InvocationRouter<RoutableWorker>({ policy: () => new LeastLoaded(), clock, maxWaiting });
  router.onSaturation((isSaturated) => void saturation.push(isSaturated));
  return { router, saturation, clock };
}

describe('the invocation router', () => {
  it('serves queued calls first, in order', async () => {
    const { router } = open();
    const seated: string[] = [];
    const wait = (name: string): Promise<Reservation<RoutableWorker> | undefined> | undefined =>
      router.wait(patient)?.then((place) => {
        seated.push(name);
        return place;
      });
    const [first, second] = [wait('first'), wait('second')];
    router.add(worker('a'));
    expect(router.reserve()).toBeUndefined(); // a queued call must not be overtaken
    (await first)?.release();
    (await second)?.release();
    expect(seated).toEqual(['first', 'second']);
    expect(router.reserve()?.worker.id).toBe('a');
  });

  it('lets calls pass a queued one whose filter accepts no free worker, and serves that one when it can', async () => {
    const { router } = open();
    const picky = router.wait({ ...patient, accepts: ({ id }) => id === 'b' });
    router.add(worker('a'));
    expect((await router.wait(patient))?.worker.id).toBe('a');
    expect(router.waiting).toBe(1);
    router.add(worker('b'));
    expect((await picky)?.worker.id).toBe('b');
    expect([...router.workers()].map(({ id }) => id)).toEqual(['a', 'b']);
  });

  it('refuses calls beyond the queue limit, and accepts them again when the queue has space', async () => {
    const { router } = open(1);
    const waiting = router.wait(patient);
    expect(router.wait(patient)).toBeUndefined();
    router.add(worker('a'));
    (await waiting)?.release();
    expect(router.waiting).toBe(0);
  });

  it('removes cancelled calls from the queue', async () => {
    const { router } = open();
    const gone = new AbortController();
    const waiting = router.wait({ ...patient, signal: gone.signal });
    gone.abort();
    expect(await waiting).toBeUndefined();
    router.add(worker('a'));
    expect(router.reserve()?.worker.id).toBe('a');
  });

  it('lets each wait for its own time, with one timer for all', async () => {
    const { router, clock } = open();
    const [late, early] = [router.wait({ ...patient, dueMs: 200 }), router.wait({ ...patient, dueMs: 100 })];
    expect(clock.pending).toBe(1);
    await clock.advance(100);
    expect(await early).toBeUndefined();
    expect(router.waiting).toBe(1);
    await clock.advance(100);
    expect(await late).toBeUndefined();
    expect([router.waiting, clock.pending]).toEqual([0, 0]);
  });

  it('reports once when the last slot is reserved, and once when one is free again', () => {
    const { router, saturation } = open();
    const a = worker('a');
    router.add(a);
    const place = router.reserve();
    expect(saturation).toEqual([false, true]);
    place?.release();
    expect(saturation).toEqual([false, true, false]);
    router.remove(a);
    expect(saturation).toEqual([false, true, false, true]);
  });

  it('gives each code version its share of any hundred', () => {
    const { router } = open();
    router.add(worker('blue', 'v1', 1_000));
    router.add(worker('green', 'v2', 1_000));
    router.setTraffic(
      new Map([
        ['v1', 80],
        ['v2', 20],
      ]),
    );
    const chosen = Array.from({ length: 100 }, () => router.reserve()?.worker.id);
    expect(chosen.filter((id) => id === 'green')).toHaveLength(20);
    expect(chosen.slice(0, 10).filter((id) => id === 'green')).toHaveLength(2);
  });

  it('gives nothing to a version without a share, even when the others have no room', () => {
    const { router } = open();
    router.add(worker('old', 'v1'));
    router.add(worker('new', 'v2'));
    router.setTraffic(new Map([['v2', 100]]));
    expect(router.reserve()?.worker.id).toBe('new');
    expect(router.reserve()).toBeUndefined();
  });

  it('gives the turn of a version that has no room to another that has', () => {
    const { router } = open();
    router.add(worker('blue', 'v1', 1));
    router.add(worker('green', 'v2', 10));
    router.setTraffic(
      new Map([
        ['v1', 90],
        ['v2', 10],
      ]),
    );
    expect(Array.from({ length: 4 }, () => router.reserve()?.worker.id)).toEqual(['blue', 'green', 'green', 'green']);
  });
});
