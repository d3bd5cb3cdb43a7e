import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codeVersionAt } from '../testing/sample-deployments.js';
import { planDeployment, planRollback, planTraffic, type PlannedApplication } from './traffic-plans.js';

const sumOf = (traffic: Readonly<Record<string, number>>): number =>
  Object.values(traffic).reduce((sum, percent) => sum + percent, 0);

const versionAt = (number: number, metadataVersion = 'm1') =>
  ({
    codeVersion: codeVersionAt(number),
    metadataVersion,
    source: { kind: 'payload', digest: String(number), bytes: 1 },
    isRolledBack: false,
  }) as const;

const empty: PlannedApplication = { applicationId: 'hello', versions: [], traffic: {}, history: [] };

/** Applies a deployment to the state, as a catalog does. */
function deployed(application: PlannedApplication, number: number, trafficPercent: number, maxVersions: number) {
  const version = versionAt(number);
  const { traffic, removed } = planDeployment(application, version, { trafficPercent, maxVersions });
  const others = application.versions.filter(
    ({ codeVersion }) => codeVersion !== version.codeVersion && !removed.includes(codeVersion),
  );
  return { ...application, versions: [...others, version], traffic, history: [traffic, ...application.history] };
}

describe('traffic plans', () => {
  it('add up to 100 whole percents, of versions that are there, whatever is deployed', () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 0, max: 100 })), {
      minLength: 1,
    });
    fc.assert(
      fc.property(steps, fc.integer({ min: 2, max: 6 }), (deployments, maxVersions) => {
        let application = empty;
        for (const [number, percent] of deployments) {
          application = deployed(application, number, percent, maxVersions);
          expect(sumOf(application.traffic)).toBe(100);
          expect(Object.values(application.traffic).every((one) => Number.isInteger(one) && one > 0)).toBe(true);
          const known = application.versions.map(({ codeVersion }) => codeVersion);
          expect(known).toEqual(expect.arrayContaining(Object.keys(application.traffic)));
          // Only versions with traffic may be more than are kept.
          expect(known.length).toBeLessThanOrEqual(Math.max(maxVersions, Object.keys(application.traffic).length + 1));
        }
      }),
    );
  });

  it('give the new version exactly its share, unless it is the first', () => {
    const application = deployed(deployed(empty, 1, 100, 10), 2, 33, 10);
    expect(application.traffic).toEqual({ [codeVersionAt(1)]: 67, [codeVersionAt(2)]: 33 });
    expect(deployed(application, 3, 33, 10).traffic).toEqual({
      [codeVersionAt(1)]: 45,
      [codeVersionAt(2)]: 22,
      [codeVersionAt(3)]: 33,
    });
  });

  it('leave shares of zero out, and never touch the state they are computed from', () => {
    const application = Object.freeze(deployed(deployed(empty, 1, 100, 10), 2, 50, 10));
    const plan = planTraffic(application, { [codeVersionAt(1)]: 0, [codeVersionAt(2)]: 100 });
    expect(plan.traffic).toEqual({ [codeVersionAt(2)]: 100 });
    expect(planRollback(application, codeVersionAt(1))).toMatchObject({
      traffic: { [codeVersionAt(1)]: 100 },
      rolledBack: [codeVersionAt(2)],
    });
  });
});
