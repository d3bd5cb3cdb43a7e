import { describe, expect, it } from 'vitest';
import { decideFleet } from './decide-fleet.js';
import { inputOf, policyWith, sampleOf } from './decisions.test.fixture.js';
import type { FleetMember, TenantLimits } from './fleet-types.js';
import type { ScalePolicy } from './types.js';

/** An application that wants so many workers. */
function wanting(application: string, workers: number, policy: Partial<ScalePolicy> = {}): FleetMember {
  return {
    application,
    tenantId: application.split('/')[0] ?? '',
    state: undefined,
    input: inputOf({ sample: sampleOf({ waiting: workers * 7 }) }),
    policy: policyWith({ concurrencyPerWorker: 10, maxWorkers: 100, ...policy }),
  };
}

function grants(
  members: readonly FleetMember[],
  maxWorkers: number,
  tenants: Record<string, TenantLimits> = {},
): number[] {
  const outcomes = decideFleet(members, { maxWorkers, tenants: new Map(Object.entries(tenants)) });
  return outcomes.map(({ state, decision }) => {
    expect(state.desired).toBe(decision.desired);
    return state.desired;
  });
}

describe('a ceiling over all applications', () => {
  it('changes nothing while there is enough', () => {
    expect(grants([wanting('a/x', 3), wanting('b/y', 4)], 7)).toEqual([3, 4]);
  });

  it('gives small wishes in full and shares the rest evenly', () => {
    expect(grants([wanting('a/x', 10), wanting('b/y', 2), wanting('c/z', 9)], 12)).toEqual([5, 2, 5]);
  });

  it('shares by tenants, not by applications', () => {
    expect(grants([wanting('a/1', 9), wanting('a/2', 9), wanting('b/1', 9)], 12)).toEqual([3, 3, 6]);
  });

  it('shares by weight', () => {
    expect(grants([wanting('a/x', 10), wanting('b/y', 10)], 9, { a: { weight: 2 } })).toEqual([6, 3]);
  });

  it('never takes minimums, and gives a tenant its guaranteed number', () => {
    expect(grants([wanting('a/x', 5, { minWorkers: 5 }), wanting('b/y', 9)], 6)).toEqual([5, 1]);
    expect(grants([wanting('a/x', 9), wanting('b/y', 9)], 8, { a: { minWorkers: 6 } })).toEqual([6, 2]);
  });

  it('holds for one tenant while the platform has room', () => {
    expect(grants([wanting('a/x', 8), wanting('a/y', 2), wanting('b/z', 8)], 100, { a: { maxWorkers: 5 } })).toEqual([
      3, 2, 8,
    ]);
  });

  it('is a reason of its own in the decision', () => {
    const [outcome] = decideFleet([wanting('a/x', 8)], { maxWorkers: 3, tenants: new Map() });
    expect(outcome?.decision).toMatchObject({ desired: 3, cause: 'tenant-share' });
    expect(outcome?.decision.clamps.at(-1)).toEqual({ clamp: 'tenant-share', from: 8, to: 3 });
  });
});
