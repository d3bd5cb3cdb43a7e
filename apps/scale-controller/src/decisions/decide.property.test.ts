import type { ApplicationSample } from '@drover/scale-link';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { replayDecision } from '../explanations/replay.js';
import { decideFleet } from './decide-fleet.js';
import { decide } from './decide.js';
import { inputOf, loadOf, monday, policyWith, sampleOf, SimulatedApplication } from './decisions.test.fixture.js';
import { initialScaleState } from './state.js';
import type { ScaleDecision, ScaleInput, ScalePolicy, ScaleState } from './types.js';

const runs = { numRuns: 80 };

const trigger = fc.record(
  {
    functionName: fc.constantFrom('orders', 'mails'),
    type: fc.constantFrom('queueTrigger', 'serviceBusTrigger', 'eventHubTrigger', 'timerTrigger', 'somethingNew'),
    waiting: fc.nat(5_000),
    oldestAgeMs: fc.nat(120_000),
    arrivalsPerSecond: fc.double({ min: 0, max: 500, noNaN: true }),
    maxUsefulWorkers: fc.integer({ min: 1, max: 40 }),
    targetPerWorker: fc.integer({ min: 1, max: 200 }),
    problem: fc.constant('access denied'),
  },
  { requiredKeys: ['functionName', 'type'] },
);

const share = fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined });

const sample: fc.Arbitrary<ApplicationSample> = fc
  .record({
    inFlight: fc.nat(300),
    waiting: fc.oneof(fc.constant(0), fc.nat(1_000)),
    capacity: fc.nat(400),
    arrivals: fc.nat(500),
    completions: fc.nat(500),
    meanServiceMs: fc.option(fc.double({ min: 0, max: 10_000, noNaN: true }), { nil: undefined }),
    cpu: share,
    memory: share,
    isBackpressured: fc.boolean(),
    triggers: fc.array(trigger, { maxLength: 3 }),
  })
  .map((values) => sampleOf(values));

/** One second in the life of an application: busy, quiet, or unknown; workers come and go as they like. */
const second = fc.record({
  sample: fc.oneof(sample, fc.constant(sampleOf()), fc.constant(undefined)),
  lost: fc.nat(2),
  wakes: fc.array(fc.constantFrom('event' as const, 'deployed' as const, 'replace' as const), { maxLength: 2 }),
  runtimeMemory: share,
  elapsedMs: fc.constantFrom(1, 200, 1_000, 1_000, 1_000, 20_000, 400_000),
});
type Second = typeof second extends fc.Arbitrary<infer T> ? T : never;

const policy = fc
  .record({ minWorkers: fc.nat(3), maxWorkers: fc.integer({ min: 3, max: 60 }), isPredictive: fc.boolean() })
  .map((values) => policyWith(values));

/** Lives through the seconds; half of the workers that were asked for are still starting. */
function live(
  seconds: readonly Second[],
  settings: ScalePolicy,
  visit: (outcome: { before: ScaleState; input: ScaleInput; decision: ScaleDecision; state: ScaleState }) => void,
): void {
  let state = initialScaleState(0, monday);
  let nowMs = monday;
  for (const { sample: measured, lost, wakes, runtimeMemory, elapsedMs } of seconds) {
    nowMs += elapsedMs;
    const workers = Math.max(0, state.desired - lost);
    const ready = Math.ceil(workers / 2);
    const counts = { ready, starting: workers - ready, draining: lost };
    const input = inputOf({ nowMs, sample: measured, workers: counts, wakes, runtimeMemory });
    const before = state;
    const outcome = decide(before, input, settings);
    ({ state } = outcome);
    visit({ before, input, decision: outcome.decision, state });
  }
}

const life = fc.array(second, { minLength: 1, maxLength: 60 });

describe('whatever happens', () => {
  it('the number is whole, at least the minimum and at most the maximum', () => {
    fc.assert(
      fc.property(life, policy, (seconds, settings) => {
        live(seconds, settings, ({ state, decision }) => {
          expect(Number.isInteger(state.desired)).toBe(true);
          expect(state.desired).toBe(decision.desired);
          expect(state.desired).toBeGreaterThanOrEqual(settings.minWorkers);
          expect(state.desired).toBeLessThanOrEqual(settings.maxWorkers);
        });
      }),
      runs,
    );
  });

  it('an event that waits finds a worker on its way in the same decision', () => {
    fc.assert(
      fc.property(life, policy, (seconds, settings) => {
        live(seconds, settings, ({ state, input }) => {
          const isWaiting = input.wakes.includes('event') || (input.sample?.waiting ?? 0) > 0;
          expect(state.desired).toBeGreaterThanOrEqual(isWaiting ? 1 : 0);
        });
      }),
      runs,
    );
  });

  it('missing data never takes workers away, and never adds some by itself', () => {
    fc.assert(
      fc.property(life, policy, (seconds, settings) => {
        live(seconds, settings, ({ before, state, input }) => {
          if (input.sample || (input.runtimeMemory ?? 0) > 0.7 || before.plateau) return;
          expect(state.desired).toBeGreaterThanOrEqual(before.desired);
          const isPrewarmed = input.nowMs < state.warmUntilMs;
          if (input.wakes.length === 0 && !isPrewarmed)
            expect(state.desired).toBeLessThanOrEqual(Math.max(before.desired, settings.minWorkers));
        });
      }),
      runs,
    );
  });

  it('growth stays within its limit', () => {
    fc.assert(
      fc.property(life, policy, (seconds, settings) => {
        live(seconds, settings, ({ before, state, decision }) => {
          const limit = decision.isPanic ? settings.slewPanic : settings.slewUp;
          const most = Math.max(before.desired * limit.factor, before.desired + limit.add, settings.minWorkers);
          expect(state.desired).toBeLessThanOrEqual(most);
        });
      }),
      runs,
    );
  });

  it('a decision is made again from its record, and its inputs are left as they were', () => {
    fc.assert(
      fc.property(life, policy, (seconds, settings) => {
        live(seconds, settings, ({ before, input, decision, state }) => {
          if (state !== before)
            expect(replayDecision({ firstAtMs: 0, count: 1, decision: clone(decision), policy: settings }).isSame).toBe(
              true,
            );
          expect(decide(deepFreeze(clone(before)), deepFreeze(clone(input)), settings).state).toEqual(state);
        });
      }),
      { numRuns: 20 },
    );
  });
});

describe('a constant load', () => {
  it('is reached within a minute and then never changes the number again', () => {
    const load = fc.integer({ min: 1, max: 300 });
    fc.assert(
      fc.property(load, fc.integer({ min: 0, max: 40 }), (concurrent, workers) => {
        const app = new SimulatedApplication({ maxWorkers: 60 }, { workers });
        app.run(60, loadOf(concurrent));
        const needed = Math.ceil(concurrent / 7);
        expect(app.ready).toBeGreaterThanOrEqual(Math.floor(needed * 0.9));
        // Shrinkage takes the stabilization window and a period for each halving.
        app.run(600, loadOf(concurrent));
        expect(new Set(app.run(300, loadOf(concurrent))).size).toBe(1);
        expect(app.ready).toBeLessThanOrEqual(Math.ceil(concurrent / 6) * 1.1 + 1);
      }),
      { numRuns: 12 },
    );
  });

  it('that trembles by 20 % moves the number at most three times in an hour', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 10, max: 300 }),
        fc.infiniteStream(fc.double({ min: 0.8, max: 1.2, noNaN: true })),
        (concurrent, noise) => {
          const app = new SimulatedApplication({ maxWorkers: 80 }, { workers: 1 });
          const trembling = (): object => loadOf(Math.round(concurrent * (noise.next().value ?? 1)))();
          app.run(400, trembling);
          const numbers = app.run(3_600, trembling);
          expect(
            numbers.filter((number, index) => index > 0 && number !== numbers[index - 1]).length,
          ).toBeLessThanOrEqual(3);
        },
      ),
      { numRuns: 3 },
    );
  });
});

describe('tenants', () => {
  const member = fc.record({ tenantId: fc.constantFrom('a', 'b', 'c'), waiting: fc.nat(400), minWorkers: fc.nat(2) });
  const weights = fc.record({ a: fc.constantFrom(1, 2, 3), b: fc.constantFrom(1, 2), c: fc.constant(1) });

  it('share the ceiling by weight: minimums stay, and no tenant gets more while another with less wants some', () => {
    fc.assert(
      fc.property(
        fc.array(member, { minLength: 1, maxLength: 12 }),
        weights,
        fc.integer({ min: 1, max: 60 }),
        (apps, weight, ceiling) => {
          const members = apps.map(({ tenantId, waiting, minWorkers }, index) => ({
            application: `${tenantId}/${index}`,
            tenantId,
            state: undefined,
            input: inputOf({ sample: sampleOf({ waiting, inFlight: 1 }) }),
            policy: policyWith({ minWorkers, concurrencyPerWorker: 10 }),
          }));
          const tenants = new Map(Object.entries(weight).map(([name, value]) => [name, { weight: value }]));
          const free = decideFleet(members, { maxWorkers: 10_000, tenants }).map(({ state }) => state.desired);
          const bounded = decideFleet(members, { maxWorkers: ceiling, tenants }).map(({ state }) => state.desired);
          const least = apps.reduce((sum, { minWorkers }) => sum + minWorkers, 0);
          expect(bounded.reduce((sum, granted) => sum + granted, 0)).toBeLessThanOrEqual(Math.max(ceiling, least));
          for (const [index, granted] of bounded.entries()) {
            expect(granted).toBeGreaterThanOrEqual(apps[index]?.minWorkers ?? 0);
            expect(granted).toBeLessThanOrEqual(free[index] ?? 0);
          }
          if (least > 0) return;
          const total = (numbers: readonly number[], name: string): number =>
            numbers.reduce((sum, value, index) => (apps[index]?.tenantId === name ? sum + value : sum), 0);
          for (const [poor, poorWeight] of Object.entries(weight))
            for (const [rich, richWeight] of Object.entries(weight)) {
              if (total(bounded, poor) >= total(free, poor)) continue;
              expect((total(bounded, rich) - 1) / richWeight).toBeLessThanOrEqual(
                (total(bounded, poor) + 1) / poorWeight,
              );
            }
        },
      ),
      { numRuns: 200 },
    );
  });
});

function clone<T>(value: T): T {
  return structuredClone(value);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}
