import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RoutableWorker } from '../../workers/routable-worker.js';
import type { Reservation, RoutingPolicy } from '../routing-policy.js';
import { LeastLoaded } from './least-loaded.js';
import { RoundRobin } from './round-robin.js';

const worker = (id: string, limit = 3): RoutableWorker => ({ id, codeVersion: 'v1', limit });

const policies: readonly [string, () => RoutingPolicy<RoutableWorker>][] = [
  ['least loaded', () => new LeastLoaded()],
  ['round robin', () => new RoundRobin()],
];

describe.each(policies)('%s', (_, make) => {
  it('reserves only workers that a filter accepts, and lists all that can be chosen', () => {
    const policy = make();
    for (const id of ['a', 'b', 'c']) policy.add(worker(id, 2));
    policy.remove(worker('c', 2));
    const onlyB = ({ id }: RoutableWorker): boolean => id === 'b';
    expect([policy.reserve(onlyB), policy.reserve(onlyB)].map((one) => one?.worker.id)).toEqual(['b', 'b']);
    expect(policy.reserve(onlyB)).toBeUndefined();
    expect(policy.reserve()?.worker.id).toBe('a');
    expect([...policy.workers()].map(({ id }) => id)).toEqual(['a', 'b']);
  });

  it('never gives a worker more than its limit, nor anything to one that was removed, and counts what is free', () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ step: fc.constant('add' as const), id: fc.nat(4) }),
        fc.record({ step: fc.constant('remove' as const), id: fc.nat(4) }),
        fc.record({ step: fc.constant('reserve' as const) }),
        fc.record({ step: fc.constant('release' as const), at: fc.nat(20) }),
      ),
      { maxLength: 80 },
    );
    fc.assert(
      fc.property(steps, (list) => {
        const policy = make();
        const workers = [0, 1, 2, 3, 4].map((id) => worker(`w${id}`, id + 1));
        const listed = new Set<string>();
        const taken = new Map<string, number>();
        const held: Reservation<RoutableWorker>[] = [];
        const freeOf = (one: RoutableWorker): number => Math.max(0, one.limit - (taken.get(one.id) ?? 0));
        for (const step of list) {
          if (step.step === 'add' || step.step === 'remove') {
            const one = workers[step.id] ?? worker('none');
            policy[step.step](one);
            if (step.step === 'add') listed.add(one.id);
            else listed.delete(one.id);
          } else if (step.step === 'reserve') {
            const place = policy.reserve();
            if (place) {
              expect(listed).toContain(place.worker.id);
              expect(freeOf(place.worker)).toBeGreaterThan(0);
              taken.set(place.worker.id, (taken.get(place.worker.id) ?? 0) + 1);
              held.push(place);
            } else expect(workers.filter((one) => listed.has(one.id)).every((one) => freeOf(one) === 0)).toBe(true);
          } else {
            const [place] = held.splice(step.at % Math.max(1, held.length), 1);
            if (!place) continue;
            place.release();
            place.release();
            taken.set(place.worker.id, (taken.get(place.worker.id) ?? 0) - 1);
          }
          const free = workers.filter((one) => listed.has(one.id)).reduce((sum, one) => sum + freeOf(one), 0);
          expect(policy.free).toBe(free);
          expect(policy.size).toBe(listed.size);
        }
      }),
    );
  });
});

describe('least loaded', () => {
  it('always takes one with the fewest invocations', () => {
    const policy = new LeastLoaded<RoutableWorker>();
    for (let id = 0; id < 5; id += 1) policy.add(worker(`w${id}`, 10));
    const load = new Map<string, number>();
    const held: Reservation<RoutableWorker>[] = [];
    for (let turn = 0; turn < 500; turn += 1) {
      if (turn % 3 === 2) {
        const [place] = held.splice((turn * 7) % held.length, 1);
        place?.release();
        if (place) load.set(place.worker.id, (load.get(place.worker.id) ?? 0) - 1);
        continue;
      }
      const place = policy.reserve();
      if (!place) continue;
      const lowest = Math.min(...[0, 1, 2, 3, 4].map((id) => load.get(`w${id}`) ?? 0));
      expect(load.get(place.worker.id) ?? 0).toBe(lowest);
      load.set(place.worker.id, (load.get(place.worker.id) ?? 0) + 1);
      held.push(place);
    }
  });
});

describe('round robin', () => {
  it('goes from one to the next, whatever they have, and skips those without room', () => {
    const policy = new RoundRobin<RoutableWorker>();
    policy.add(worker('a', 1));
    policy.add(worker('b', 3));
    policy.add(worker('c', 3));
    const order = Array.from({ length: 6 }, () => policy.reserve()?.worker.id);
    expect(order).toEqual(['a', 'b', 'c', 'b', 'c', 'b']);
  });
});
