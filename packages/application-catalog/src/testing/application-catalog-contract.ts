import type { PublishedEvent, TenantId } from '@drover/contracts';
import { eventually } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ApplicationCatalog } from '../application-catalog.js';
import { acmeTenant, codeVersionAt, globexTenant, sampleDeployment, sampleIndex } from './sample-deployments.js';

/** A catalog that keeps three versions per application. */
export interface CatalogFixture {
  readonly catalog: ApplicationCatalog;
  /** Events of the topic of applications, in order. */
  readonly events: readonly PublishedEvent[];
  close(): Promise<void>;
}

const hello = { tenantId: acmeTenant, applicationId: 'hello' };
const digest = 'd'.repeat(64);
const [one, two, three, four, five] = [1, 2, 3, 4, 5].map(codeVersionAt) as [string, string, string, string, string];

/** The promises of `ApplicationCatalog`. The test of each adapter runs it. */
export function applicationCatalogContract(adapter: string, open: () => Promise<CatalogFixture>): void {
  describe(`the application catalog contract: ${adapter}`, () => {
    let fixture: CatalogFixture;
    let catalog: ApplicationCatalog;
    beforeEach(async () => {
      fixture = await open();
      catalog = fixture.catalog;
    });
    afterEach(() => fixture.close());

    it('gives the first version all traffic, whatever share was asked for', async () => {
      const index = sampleIndex('m7');
      const settings = { QUEUE: 'orders', KEY: 'k\u0301 "quoted"' };
      const deployed = await catalog.deploy(sampleDeployment(1, { trafficPercent: 5, index, settings }));
      expect(deployed).toMatchObject({
        ...hello,
        traffic: { [one]: 100 },
        isDeleting: false,
        scaling: {},
        rollback: {},
      });
      const found = await catalog.find(hello);
      expect(found?.versions).toMatchObject([{ codeVersion: one, index, settingNames: ['KEY', 'QUEUE'] }]);
      expect(found?.versions[0]?.revealSettings()).toEqual(settings);
    });

    it('splits traffic with a new version, and keeps the proportion of the others', async () => {
      await catalog.deploy(sampleDeployment(1));
      await catalog.deploy(sampleDeployment(2, { trafficPercent: 20 }));
      const { traffic, versions } = await catalog.deploy(sampleDeployment(3, { trafficPercent: 50 }));
      expect(traffic).toEqual({ [one]: 40, [two]: 10, [three]: 50 });
      expect(versions.map(({ codeVersion }) => codeVersion)).toEqual([one, two, three]);
    });

    it('keeps a version without traffic until there are too many, and never one that has traffic', async () => {
      await catalog.deploy(sampleDeployment(1));
      await catalog.deploy(sampleDeployment(2, { trafficPercent: 10 }));
      await catalog.deploy(sampleDeployment(3, { trafficPercent: 0 }));
      const { versions, traffic } = await catalog.deploy(sampleDeployment(4, { trafficPercent: 0 }));
      expect(versions.map(({ codeVersion }) => codeVersion)).toEqual([one, two, four]);
      expect(traffic).toEqual({ [one]: 90, [two]: 10 });
    });

    it('deploys a known version again in place', async () => {
      await catalog.deploy(sampleDeployment(1));
      await catalog.deploy(sampleDeployment(2));
      const { versions, traffic } = await catalog.deploy(sampleDeployment(1));
      expect(traffic).toEqual({ [one]: 100 });
      expect(versions.map(({ codeVersion }) => codeVersion)).toEqual([two, one]);
    });

    it('replaces the version of the same folder, whose files are not there any more', async () => {
      const source = { kind: 'folder', directory: '/apps/hello', isWatched: true } as const;
      await catalog.deploy(sampleDeployment(1, { source }));
      const { versions, traffic } = await catalog.deploy(sampleDeployment(2, { source, index: sampleIndex('m2') }));
      expect(versions.map(({ codeVersion }) => codeVersion)).toEqual([two]);
      expect(traffic).toEqual({ [two]: 100 });
      await expect(catalog.rollBack(hello, { reason: 'bad', isAutomatic: false })).rejects.toMatchObject({
        code: 'APPLICATION_NO_ROLLBACK',
      });
    });

    it.each([
      ['shares that do not add up', { [one]: 50, [two]: 49 }, 'APPLICATION_TRAFFIC_INVALID', /add up to 99/],
      ['an unknown version', { [one]: 50, [five]: 50 }, 'APPLICATION_VERSION_UNKNOWN', new RegExp(five)],
      ['a fraction', { [one]: 50.5, [two]: 49.5 }, 'APPLICATION_TRAFFIC_INVALID', /50\.5 %/],
      ['a negative share', { [one]: 101, [two]: -1 }, 'APPLICATION_TRAFFIC_INVALID', /101 %/],
      ['no version at all', {}, 'APPLICATION_TRAFFIC_INVALID', /add up to 0/],
      ['versions with other triggers', { [one]: 50, [three]: 50 }, 'APPLICATION_TRAFFIC_INVALID', /different triggers/],
    ])('refuses traffic with %s, and changes nothing', async (_, traffic, code, message) => {
      await catalog.deploy(sampleDeployment(1));
      await catalog.deploy(sampleDeployment(2, { trafficPercent: 0 }));
      const before = await catalog.deploy(sampleDeployment(3, { trafficPercent: 0, index: sampleIndex('m2') }));
      await expect(catalog.setTraffic(hello, traffic, 'test')).rejects.toMatchObject({
        code,
        message: expect.stringMatching(message),
      });
      expect(await catalog.find(hello)).toMatchObject({ generation: before.generation, traffic: { [one]: 100 } });
    });

    it('refuses to split traffic with a version that has other triggers, and does not deploy it', async () => {
      await catalog.deploy(sampleDeployment(1));
      const canary = sampleDeployment(2, { trafficPercent: 10, index: sampleIndex('m2') });
      await expect(catalog.deploy(canary)).rejects.toMatchObject({ code: 'APPLICATION_TRAFFIC_INVALID' });
      expect((await catalog.find(hello))?.versions).toHaveLength(1);
    });

    it('rolls back step by step, past versions that were rolled back, and records why', async () => {
      for (const number of [1, 2, 3]) await catalog.deploy(sampleDeployment(number));
      const first = await catalog.rollBack(hello, { reason: 'errors', isAutomatic: true });
      expect(first?.traffic).toEqual({ [two]: 100 });
      expect(first?.versions.map(({ isRolledBack }) => isRolledBack)).toEqual([false, false, true]);
      const second = await catalog.rollBack(hello, { reason: 'still bad', isAutomatic: false });
      expect(second?.traffic).toEqual({ [one]: 100 });
      await expect(catalog.rollBack(hello, { reason: 'again', isAutomatic: false })).rejects.toMatchObject({
        code: 'APPLICATION_NO_ROLLBACK',
      });
      expect((await catalog.changes(hello)).map(({ kind, reason, traffic }) => [kind, reason, traffic])).toEqual([
        ['rolled-back', 'still bad', { [one]: 100 }],
        ['rolled-back-automatically', 'errors', { [two]: 100 }],
        ['deployed', 'test', { [three]: 100 }],
        ['deployed', 'test', { [two]: 100 }],
        ['deployed', 'test', { [one]: 100 }],
      ]);
      const promoted = await catalog.setTraffic(hello, { [three]: 100 }, 'promoted');
      expect(promoted.versions.at(-1)).toMatchObject({ codeVersion: three, isRolledBack: false });
    });

    it('rolls back to a version by its name, and to earlier shares', async () => {
      await catalog.deploy(sampleDeployment(1));
      await catalog.deploy(sampleDeployment(2, { trafficPercent: 30 }));
      await catalog.setTraffic(hello, { [two]: 100 }, 'promoted');
      const split = await catalog.rollBack(hello, { reason: 'x', isAutomatic: false });
      expect(split?.traffic).toEqual({ [one]: 70, [two]: 30 });
      expect((await catalog.rollBack(hello, { toVersion: one, reason: 'x', isAutomatic: false }))?.traffic).toEqual({
        [one]: 100,
      });
    });

    it('does not roll back an application that has changed meanwhile', async () => {
      const { generation } = await catalog.deploy(sampleDeployment(1));
      await catalog.deploy(sampleDeployment(2));
      const stale = { reason: 'late', isAutomatic: true, ifGeneration: generation };
      expect(await catalog.rollBack(hello, stale)).toBeUndefined();
      expect(await catalog.find(hello)).toMatchObject({ traffic: { [two]: 100 } });
    });

    it('changes scaling and rollback settings each on their own, and keeps them over deployments', async () => {
      await catalog.deploy(sampleDeployment(1, { scaling: { maxWorkers: 4 } }));
      await catalog.configure(hello, { rollback: { maxErrorPercent: 5 } });
      const deployed = await catalog.deploy(sampleDeployment(2));
      expect(deployed).toMatchObject({ scaling: { maxWorkers: 4 }, rollback: { maxErrorPercent: 5 } });
    });

    it('removes a version only when it has no traffic', async () => {
      await catalog.deploy(sampleDeployment(1));
      await catalog.deploy(sampleDeployment(2));
      await expect(catalog.removeVersion(hello, two)).rejects.toMatchObject({ code: 'APPLICATION_VERSION_IN_USE' });
      expect((await catalog.removeVersion(hello, one)).versions).toMatchObject([{ codeVersion: two }]);
    });

    it('drains before it removes: nothing changes an application that is deleting', async () => {
      await catalog.deploy(sampleDeployment(1));
      expect(await catalog.completeRemoval(hello)).toBe(false);
      const deleting = await catalog.beginRemoval(hello);
      expect(deleting.isDeleting).toBe(true);
      expect((await catalog.beginRemoval(hello)).generation).toBe(deleting.generation);
      await expect(catalog.deploy(sampleDeployment(2))).rejects.toMatchObject({ code: 'APPLICATION_DELETING' });
      await expect(catalog.setTraffic(hello, { [one]: 100 }, '')).rejects.toMatchObject({
        code: 'APPLICATION_DELETING',
      });
      expect(await catalog.completeRemoval(hello)).toBe(true);
      expect(await catalog.find(hello)).toBeUndefined();
      expect(await catalog.completeRemoval(hello)).toBe(false);
      const again = await catalog.deploy(sampleDeployment(2));
      expect(again.generation).toBeGreaterThan(deleting.generation);
      expect(again.versions).toHaveLength(1);
      expect(await catalog.changes(hello)).toHaveLength(1);
    });

    it('separates tenants', async () => {
      await catalog.deploy(sampleDeployment(1));
      await catalog.deploy(sampleDeployment(2, { tenantId: globexTenant, applicationId: 'apricot' }));
      expect((await catalog.list(acmeTenant)).map(({ applicationId }) => applicationId)).toEqual(['hello']);
      expect((await catalog.list()).map(({ tenantId }) => tenantId)).toEqual([acmeTenant, globexTenant]);
      await expect(catalog.beginRemoval({ ...hello, tenantId: globexTenant })).rejects.toMatchObject({
        code: 'APPLICATION_UNKNOWN',
        message: expect.stringContaining('hello'),
      });
    });

    it('publishes every change once, in order, and none of a change that was refused', async () => {
      await catalog.deploy(sampleDeployment(1));
      await catalog.setTraffic(hello, { [two]: 100 }, '').catch(() => undefined);
      await catalog.configure(hello, { scaling: { minWorkers: 1 } });
      await catalog.beginRemoval(hello);
      await catalog.completeRemoval(hello);
      await eventually(() => expect(fixture.events.at(-1)?.payload).toMatchObject({ removed: true }));
      expect(fixture.events.map(({ key }) => key)).toEqual(Array.from({ length: 4 }, () => 'acme/hello'));
      const generations = fixture.events.map(({ generation }) => generation);
      expect(generations).toEqual([...new Set(generations)].toSorted((a, b) => a - b));
    });

    it('applies concurrent deployments one after the other', async () => {
      await Promise.all([1, 2, 3].map((number) => catalog.deploy(sampleDeployment(number, { trafficPercent: 50 }))));
      const application = await catalog.find(hello);
      expect(application?.versions).toHaveLength(3);
      expect(Object.values(application?.traffic ?? {}).reduce((sum, percent) => sum + percent, 0)).toBe(100);
    });

    it('deploys a payload only for the tenant that uploaded it, and keeps it while a version needs it', async () => {
      const source = { kind: 'payload', digest, bytes: 7 } as const;
      await expect(catalog.deploy(sampleDeployment(1, { source }))).rejects.toMatchObject({
        code: 'APPLICATION_PAYLOAD_UNKNOWN',
      });
      expect(await catalog.find(hello)).toBeUndefined();
      const placed: string[] = [];
      const place = async (): Promise<void> => void placed.push(digest);
      await catalog.addPayload(acmeTenant, { digest, bytes: 7, files: 1 }, place);
      expect(placed).toEqual([digest]);
      expect(await catalog.findPayload(acmeTenant, digest)).toEqual({ digest, bytes: 7, files: 1 });
      expect(await catalog.findPayload(globexTenant, digest)).toBeUndefined();
      await catalog.deploy(sampleDeployment(1, { source }));
      const discarded: string[] = [];
      const clean = (): Promise<number> =>
        catalog.removePayloads(
          { beforeMs: Date.now() + 3_600_000, maxUnused: 5 },
          async (tenantId, one) => void discarded.push(`${tenantId} ${one}`),
        );
      expect(await clean()).toBe(0);
      await catalog.beginRemoval(hello);
      await catalog.completeRemoval(hello);
      expect(
        await catalog.removePayloads({ beforeMs: 0, maxUnused: 1 }, () => Promise.reject(new Error('too young'))),
      ).toBe(0);
      expect(await clean()).toBe(1);
      expect(discarded).toEqual([`acme ${digest}`]);
    });

    it('keeps the newest payloads of each tenant that no version needs, and drops the others', async () => {
      const digests = ['a', 'b', 'c', 'd'].map((digit) => digit.repeat(64));
      const add = (tenantId: TenantId, one: string): Promise<void> =>
        catalog.addPayload(tenantId, { digest: one, bytes: 1, files: 1 }, () => Promise.resolve());
      for (const one of digests) await add(acmeTenant, one);
      await add(globexTenant, digests[0] ?? '');
      await add(acmeTenant, digests[0] ?? ''); // again: the newest now
      await catalog.deploy(sampleDeployment(1, { source: { kind: 'payload', digest: digests[1] ?? '', bytes: 1 } }));
      const dropped: string[] = [];
      const discard = async (tenantId: TenantId, one: string): Promise<void> => void dropped.push(`${tenantId} ${one}`);
      expect(await catalog.removePayloads({ beforeMs: 0, maxUnused: 2 }, discard)).toBe(1);
      expect(dropped).toEqual([`acme ${digests[2]}`]);
    });
  });
}
