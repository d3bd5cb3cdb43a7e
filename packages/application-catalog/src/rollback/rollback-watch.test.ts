import { FakeClock } from '@drover/testkit';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ApplicationCatalog, CatalogApplication } from '../application-catalog.js';
import { MemoryApplicationCatalog } from '../memory/memory-application-catalog.js';
import type { CatalogObservation } from '../observations.js';
import { acmeTenant, codeVersionAt, sampleDeployment } from '../testing/sample-deployments.js';
import type { VersionSample } from './call-history.js';
import { RollbackWatch } from './rollback-watch.js';

const hello = { tenantId: acmeTenant, applicationId: 'hello' };
const [one, two, three] = [1, 2, 3].map(codeVersionAt) as [string, string, string];
const good = { completions: 50, failures: 0, p95ServiceMs: 20 };

let clock: FakeClock;
let catalog: ApplicationCatalog;
let seen: CatalogObservation[];
let watch: RollbackWatch;
let known: CatalogApplication | undefined;
beforeEach(() => {
  clock = new FakeClock();
  catalog = new MemoryApplicationCatalog({ bus: { publish: () => Promise.resolve() }, clock });
  seen = [];
  known = undefined;
  watch = new RollbackWatch({ catalog, find: () => known, clock, observe: (one) => void seen.push(one) });
});

/** Deploys versions one after the other and tells the watch of the last state. */
async function deploy(...deployments: readonly ReturnType<typeof sampleDeployment>[]): Promise<void> {
  for (const deployment of deployments) known = await catalog.deploy(deployment);
}

/** Lets seconds pass in which each version has such calls. Returns the traffic afterwards. */
async function pass(seconds: number, calls: Readonly<Record<string, VersionSample>>): Promise<unknown> {
  for (let second = 0; second < seconds; second += 1) {
    watch.record('acme/hello', calls);
    await clock.advance(1_000);
    known = await catalog.find(hello);
  }
  return known?.traffic;
}

describe('RollbackWatch', () => {
  it('takes the traffic from a version that fails, within seconds, and says why', async () => {
    await deploy(sampleDeployment(1));
    await pass(60, { [one]: good });
    await deploy(sampleDeployment(2));
    expect(await pass(5, { [two]: { ...good, failures: 20 } })).toEqual({ [one]: 100 });
    const [change] = await catalog.changes(hello);
    expect(change).toMatchObject({
      kind: 'rolled-back-automatically',
      reason: `${two}: 20 of 50 calls failed (40 %, allowed are 25 %, of the versions before 0 %)`,
    });
    expect(seen).toMatchObject([{ kind: 'rollback.done', application: 'acme/hello', traffic: { [one]: 100 } }]);
  });

  it('takes the traffic from a canary that is several times slower than the version beside it', async () => {
    await deploy(sampleDeployment(1), sampleDeployment(2, { trafficPercent: 20 }));
    const calls = { [one]: good, [two]: { completions: 12, failures: 0, p95ServiceMs: 120 } };
    expect(await pass(10, calls)).toEqual({ [one]: 100 });
    expect((await catalog.changes(hello))[0]?.reason).toMatch(/up to 120 ms, of the versions before 20 ms/);
  });

  it.each<[string, VersionSample]>([
    ['fails less than allowed', { ...good, failures: 12 }],
    ['is slower by less than the factor', { ...good, p95ServiceMs: 79 }],
    ['was called too seldom', { completions: 1, failures: 1 }],
  ])('leaves a version alone that %s', async (_, calls) => {
    await deploy(sampleDeployment(1));
    await pass(20, { [one]: good });
    await deploy(sampleDeployment(2));
    expect(await pass(15, { [two]: calls })).toEqual({ [two]: 100 });
    expect(seen).toEqual([]);
  });

  it('does not blame a version for what fails the others, too', async () => {
    await deploy(sampleDeployment(1), sampleDeployment(2, { trafficPercent: 50 }));
    const failing = { ...good, failures: 30 };
    expect(await pass(20, { [one]: { ...failing, failures: 20 }, [two]: failing })).toEqual({ [one]: 50, [two]: 50 });
  });

  it('leaves fast versions alone, however large the factor', async () => {
    await deploy(sampleDeployment(1), sampleDeployment(2, { trafficPercent: 50 }));
    const calls = { [one]: { ...good, p95ServiceMs: 1 }, [two]: { ...good, p95ServiceMs: 40 } };
    expect(await pass(20, calls)).toEqual({ [one]: 50, [two]: 50 });
  });

  it('stops watching when the time of the policy is over, and never starts if it is off', async () => {
    await deploy(sampleDeployment(1), sampleDeployment(2, { rollback: { watchMs: 30_000 } }));
    await pass(31, { [two]: good });
    expect(await pass(30, { [two]: { ...good, failures: 50 } })).toEqual({ [two]: 100 });
    await deploy(sampleDeployment(3, { rollback: { isEnabled: false } }));
    expect(await pass(30, { [three]: { ...good, failures: 50 } })).toEqual({ [three]: 100 });
  });

  it('rolls back further if the version before fails as well, and then stops', async () => {
    await deploy(sampleDeployment(1), sampleDeployment(2), sampleDeployment(3));
    const failing = { ...good, failures: 50 };
    expect(await pass(3, { [three]: failing })).toEqual({ [two]: 100 });
    expect(await pass(3, { [two]: failing })).toEqual({ [one]: 100 });
    expect(await pass(30, { [one]: failing })).toEqual({ [one]: 100 });
    expect(seen.map(({ kind }) => kind)).toEqual(['rollback.done', 'rollback.done']);
  });

  it('tries once, not every second, if there is nothing to return to', async () => {
    await deploy(sampleDeployment(1));
    const rollBack = catalog.rollBack.bind(catalog);
    let tries = 0;
    catalog.rollBack = (address, rollback) => {
      tries += 1;
      return rollBack(address, rollback);
    };
    // Version 2 never had traffic, so no history leads back to it.
    await deploy(sampleDeployment(2, { trafficPercent: 0 }), sampleDeployment(3));
    await catalog.setTraffic(hello, { [three]: 100 }, 'again');
    await catalog.removeVersion(hello, one);
    known = await catalog.find(hello);
    expect(await pass(20, { [three]: { ...good, failures: 50 } })).toEqual({ [three]: 100 });
    expect(tries).toBe(1);
    expect(seen).toMatchObject([{ kind: 'rollback.failed' }]);
  });

  it('acts on nothing that changed since it looked', async () => {
    await deploy(sampleDeployment(1), sampleDeployment(2));
    const stale = known;
    await catalog.setTraffic(hello, { [one]: 50, [two]: 50 }, 'split');
    known = stale;
    watch.record('acme/hello', { [two]: { ...good, failures: 50 } });
    await clock.advance(0);
    expect((await catalog.find(hello))?.traffic).toEqual({ [one]: 50, [two]: 50 });
    expect(seen).toEqual([]);
  });

  it('forgets applications without calls', async () => {
    await deploy(sampleDeployment(1), sampleDeployment(2));
    await pass(5, { [two]: { completions: 19, failures: 19 } });
    expect(known?.traffic).toEqual({ [one]: 100 });
    await deploy(sampleDeployment(3));
    await pass(1, { [three]: { completions: 19, failures: 19 } });
    await clock.advance(1_000_000);
    watch.forgetIdle();
    expect(await pass(1, { [three]: { completions: 19, failures: 19 } })).toEqual({ [three]: 100 });
  });
});
