import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { SettingsSeal } from '@drover/application-catalog';
import { MemoryApplicationCatalog, sampleIndex } from '@drover/application-catalog/testing';
import { defaultTenantId, type StoredFunctionIndex } from '@drover/contracts';
import { FakeClock, seededRandomness, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { Deployer, type Deployed } from './deployer.js';

/** Deploys what a test says that a runtime found in the folder. */
interface Trial {
  readonly deploy: (
    index: Partial<StoredFunctionIndex>,
    more?: { readonly keepsFunctions?: boolean },
  ) => Promise<Deployed>;
}

async function trial(use: (made: Trial) => Promise<void>): Promise<void> {
  await withScratchDirectory(async (directory) => {
    let found = sampleIndex();
    let saves = 0;
    const deployer = new Deployer({
      catalog: new MemoryApplicationCatalog({ bus: { publish: () => Promise.resolve() }, clock: new FakeClock() }),
      payloads: undefined,
      seal: new SettingsSeal(undefined, seededRandomness(1)),
      indexer: { index: async () => ({ kind: 'indexed', index: found, warnings: [] }) },
      folderLimits: { files: 10, bytes: 1_000 },
      sharedRoutes: () => Promise.resolve([]),
      observe: () => undefined,
    });
    await use({
      deploy: async (index, { keepsFunctions = true } = {}) => {
        found = { ...sampleIndex(), ...index };
        await writeFile(path.join(directory, 'index.js'), `save ${(saves += 1)}`);
        return await deployer.deploy({
          tenantId: defaultTenantId,
          applicationId: 'shop',
          from: { directory, isWatched: true },
          settings: {},
          trafficPercent: 100,
          isLenient: true,
          keepsFunctions,
          reason: 'test',
        });
      },
    });
  });
}

const functions = (...names: string[]): Pick<StoredFunctionIndex, 'functions'> => ({
  functions: names.map((name) => ({ name, triggerType: 'timerTrigger', isDisabled: false, trigger: {}, metadata: {} })),
});
const unloaded = (functionName: string): StoredFunctionIndex['problems'][number] => ({
  functionName,
  problem: 'pay.js cannot be loaded',
  isLoadFailure: true,
});

describe('a version with code that cannot be loaded', () => {
  it('does not replace one whose functions it lacks, and is deployed as the first one', () =>
    trial(async ({ deploy }) => {
      const broken = { ...functions('order'), problems: [unloaded('app')] };
      const first = await deploy(broken);
      expect(first.version.index.functions).toHaveLength(1);
      await deploy(functions('order', 'pay'));
      await expect(deploy(broken)).rejects.toMatchObject({
        code: 'APPLICATION_REFUSED',
        message: expect.stringMatching(/app: pay\.js cannot be loaded; it would lose pay/) as string,
      });
      const { application } = await deploy(functions('order', 'pay', 'ship'));
      expect(application.versions.at(-1)?.index.functions).toHaveLength(3);
    }));

  it('does not replace one that could load all of its functions', () =>
    trial(async ({ deploy }) => {
      const broken = { ...functions('order', 'pay'), problems: [unloaded('pay')] };
      await deploy(broken);
      await deploy(broken); // nothing is lost
      await deploy(functions('order', 'pay'));
      await expect(deploy(broken)).rejects.toMatchObject({ code: 'APPLICATION_REFUSED' });
    }));

  it('is deployed where no version runs yet, and where functions are missing for another reason', () =>
    trial(async ({ deploy }) => {
      await deploy(functions('order', 'pay'));
      await deploy({ ...functions('order'), problems: [unloaded('app')] }, { keepsFunctions: false });
      await deploy(functions('order', 'pay'));
      const taken = { functionName: 'order', problem: 'its route is taken' };
      const { version } = await deploy({ ...functions('order'), problems: [taken] });
      expect(version.index.problems).toEqual([taken]);
    }));
});
