import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { MemoryApplicationCatalog, sampleDeployment, sampleIndex } from '@drover/application-catalog/testing';
import { defaultTenantId, type StoredFunctionIndex } from '@drover/contracts';
import { eventually, FakeClock, seededRandomness, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import type { Deployed, DeploymentRequest } from './deployer.js';
import { applicationNotIndexed, applicationRefused } from './errors.js';
import { FolderDeployments } from './folder-deployments.js';
import type { DeploymentObservation } from './observations.js';

interface Trial {
  readonly clock: FakeClock;
  readonly catalog: MemoryApplicationCatalog;
  readonly folders: FolderDeployments;
  readonly requests: DeploymentRequest[];
  readonly seen: DeploymentObservation[];
  /** What the next deployments do. */
  behave: () => Promise<void>;
  /** Of the next versions. */
  problems: StoredFunctionIndex['problems'];
}

/** Folders whose deployments do what a test says, with the names of applications as directories. */
function trial(directories: readonly string[], isHotReload = false, onlyFunctions: readonly string[] = []): Trial {
  const clock = new FakeClock();
  const catalog = new MemoryApplicationCatalog({ bus: { publish: () => Promise.resolve() }, clock });
  const requests: DeploymentRequest[] = [];
  const seen: DeploymentObservation[] = [];
  const made: Trial = {
    clock,
    catalog,
    requests,
    seen,
    behave: () => Promise.resolve(),
    problems: [],
    folders: new FolderDeployments({
      directories,
      tenantId: defaultTenantId,
      isHotReload,
      onlyFunctions,
      catalog,
      deployer: {
        async deploy(request) {
          requests.push(request);
          await made.behave();
          return deployed(request, made.problems);
        },
      },
      clock,
      randomness: seededRandomness(1),
      observe: (one) => void seen.push(one),
    }),
  };
  return made;
}

function deployed({ applicationId }: DeploymentRequest, problems: StoredFunctionIndex['problems']): Deployed {
  const index = { ...sampleIndex(), problems };
  const version = { codeVersion: 'c1', index, settingNames: [], revealSettings: () => ({}), deployedAtMs: 0 };
  const source = { kind: 'folder', directory: '/', isWatched: true } as const;
  const whole = { ...version, source, isRolledBack: false };
  const application = { ...sampleDeployment(1), applicationId, generation: 1, versions: [whole], traffic: {} };
  return {
    application: { ...application, scaling: {}, rollback: {}, trafficChangedAtMs: 0, isDeleting: false },
    version: whole,
  };
}

describe('FolderDeployments', () => {
  it('deploys every folder under its name, and is ready when all of them are deployed', async () => {
    const { folders, requests, clock } = trial(['/apps/hello', '/apps/über app']);
    await folders.start();
    expect(folders.health()).toMatchObject({
      isReady: false,
      problems: { deployments: 'hello, app-ber-app: not deployed yet' },
    });
    await clock.advance(0);
    expect(requests).toMatchObject([
      {
        applicationId: 'hello',
        from: { directory: '/apps/hello', isWatched: true },
        trafficPercent: 100,
        isLenient: true,
        keepsFunctions: false,
      },
      { applicationId: 'app-ber-app' },
    ]);
    expect(folders.health()).toEqual({ isReady: true, problems: {} });
    await folders.stop();
  });

  it('waits for a runtime that still starts, without a report', async () => {
    const made = trial(['/apps/hello']);
    made.behave = () => Promise.reject(applicationNotIndexed({ applicationId: 'hello', reason: 'it starts' }));
    await made.folders.start();
    await made.clock.advance(300);
    expect(made.requests.length).toBeGreaterThan(3);
    expect(made.folders.health().problems).toHaveProperty('deployments');
    made.behave = () => Promise.resolve();
    await made.clock.advance(2_000);
    expect(made.folders.health().isReady).toBe(true);
    expect(made.seen).toEqual([]);
    await made.folders.stop();
    expect(made.clock.pending).toBe(0);
  });

  it('names a folder that cannot run, and is ready if another one can', async () => {
    const made = trial(['/apps/bad', '/apps/good']);
    const refused = applicationRefused({ applicationId: 'bad', problems: ['host.json: is no JSON'] });
    made.behave = () => (made.requests.at(-1)?.applicationId === 'bad' ? Promise.reject(refused) : Promise.resolve());
    await made.folders.start();
    await made.clock.advance(5_000);
    expect(made.requests).toHaveLength(2);
    expect(made.folders.health()).toEqual({ isReady: true, problems: { 'application bad': refused.message } });
    expect(made.seen).toMatchObject([{ kind: 'application.folder-refused', applicationId: 'bad' }]);
    await made.folders.stop();
  });

  it('refuses the second of two folders with one name', async () => {
    const made = trial(['/one/hello', '/two/hello']);
    await made.folders.start();
    await made.clock.advance(0);
    expect(made.requests).toMatchObject([{ from: { directory: '/one/hello' } }]);
    expect(made.folders.health()).toMatchObject({
      isReady: true,
      problems: { 'application hello': expect.stringContaining('/one/hello has the same name as /two/hello') },
    });
    await made.folders.stop();
  });

  it('removes the version of an earlier start when the files cannot run now, but not when a later save is broken', async () => {
    const refusal = () => Promise.reject(applicationRefused({ applicationId: 'hello', problems: ['broken'] }));
    const source = { kind: 'folder', directory: '/apps/hello', isWatched: true } as const;
    const stored = sampleDeployment(1, { tenantId: defaultTenantId, source });
    const made = trial(['/apps/hello']);
    made.behave = refusal;
    await made.catalog.deploy(stored);
    await made.folders.start();
    await made.clock.advance(0);
    expect((await made.catalog.find(stored))?.isDeleting).toBe(true);
    await made.folders.stop();

    await withScratchDirectory(async (directory) => {
      const app = path.join(directory, 'hello');
      await mkdir(app);
      const later = trial([app], true);
      await later.catalog.deploy({ ...stored, source: { ...source, directory: app } });
      await later.folders.start();
      await later.clock.advance(0);
      later.behave = refusal;
      await writeFile(path.join(app, 'index.js'), 'broken');
      await eventually(async () => {
        await later.clock.advance(200);
        expect(later.seen).toMatchObject([{ kind: 'application.folder-refused' }]);
      });
      expect((await later.catalog.find(stored))?.isDeleting).toBe(false);
      await later.folders.stop();
    });
  });

  it('deploys only the functions that are named, as a version of its own, and names one that does not exist', async () => {
    const [known = expect.unreachable()] = sampleIndex().functions;
    const made = trial(['/apps/hello'], false, [known.name.toUpperCase(), 'typo']);
    await made.folders.start();
    await made.clock.advance(0);
    expect(made.requests).toMatchObject([
      {
        settings: {
          AzureFunctionsJobHost__functions__0: known.name.toUpperCase(),
          AzureFunctionsJobHost__functions__1: 'typo',
        },
      },
    ]);
    expect(made.seen).toMatchObject([
      { kind: 'application.folder-problem', problem: expect.stringContaining('it has no function typo;') as unknown },
    ]);
    await made.folders.stop();
  });

  it('reports a problem of a version once, and again only after it was mended', async () => {
    await withScratchDirectory(async (directory) => {
      const app = path.join(directory, 'hello');
      await mkdir(app);
      const made = trial([app], true);
      const odd = { functionName: 'odd', problem: 'its trigger is unknown' };
      const other = { functionName: 'other', problem: 'its trigger is unknown' };
      made.problems = [odd];
      await made.folders.start();
      await made.clock.advance(0);
      for (const [save, problems] of [[odd], [odd, other], [other], [odd, other]].entries()) {
        made.problems = problems;
        await writeFile(path.join(app, 'index.js'), String(save));
        await eventually(async () => {
          await made.clock.advance(200);
          expect(made.requests).toHaveLength(2 + save);
        });
      }
      await made.folders.stop();
      const reported = made.seen.map((one) => (one.kind === 'application.folder-problem' ? one.problem : one.kind));
      expect(reported.map((problem) => problem.split(':')[0])).toEqual([
        'function odd',
        'function other',
        'function odd',
      ]);
    });
  });

  it('stops waiting when it stops', async () => {
    const made = trial(['/apps/hello']);
    made.behave = () => Promise.reject(applicationNotIndexed({ applicationId: 'hello', reason: 'it starts' }));
    await made.folders.start();
    await made.clock.advance(50);
    await made.folders.stop();
    expect(made.clock.pending).toBe(0);
  });

  it('removes what an earlier start watched, but nothing that was deployed otherwise', async () => {
    const made = trial(['/apps/hello']);
    const watched = (applicationId: string, isWatched: boolean) =>
      sampleDeployment(1, {
        tenantId: defaultTenantId,
        applicationId,
        source: { kind: 'folder', directory: `/apps/${applicationId}`, isWatched },
      });
    for (const one of [watched('hello', true), watched('former', true), watched('pinned', false)])
      await made.catalog.deploy(one);
    await made.folders.start();
    await made.clock.advance(0);
    const states = (await made.catalog.list()).map(({ applicationId, isDeleting }) => [applicationId, isDeleting]);
    expect(states).toEqual([
      ['former', true],
      ['hello', false],
      ['pinned', false],
    ]);
    await made.folders.stop();
  });

  it('deploys again once files rest, one deployment at a time, and only for files of the app itself', async () => {
    await withScratchDirectory(async (directory) => {
      const app = path.join(directory, 'hello');
      await mkdir(path.join(app, 'node_modules'), { recursive: true });
      const made = trial([app], true);
      let running = 0;
      let most = 0;
      made.behave = async () => {
        running += 1;
        most = Math.max(most, running);
        await Promise.resolve();
        running -= 1;
      };
      await made.folders.start();
      await made.clock.advance(0);
      expect(made.requests).toHaveLength(1);
      await writeFile(path.join(app, 'node_modules', 'package.js'), '1');
      await writeFile(path.join(app, 'index.js'), '1');
      await eventually(() => made.clock.pending > 0);
      await made.clock.advance(199);
      expect(made.requests).toHaveLength(1);
      await eventually(async () => {
        await made.clock.advance(200);
        expect(made.requests).toHaveLength(2);
      });
      await rm(path.join(app, 'index.js'));
      await eventually(async () => {
        await made.clock.advance(200);
        expect(made.requests).toHaveLength(3);
      });
      expect(most).toBe(1);
      await made.folders.stop();
      expect(made.clock.pending).toBe(0);
    });
  });

  it('deploys after every save by rename, as editors save, also of a file in a folder of the app', async () => {
    await withScratchDirectory(async (directory) => {
      const app = path.join(directory, 'hello');
      const functions = path.join(app, 'src', 'functions');
      await mkdir(functions, { recursive: true });
      const saveByRename = async (text: string): Promise<void> => {
        await writeFile(path.join(directory, 'draft'), text);
        await rename(path.join(directory, 'draft'), path.join(functions, 'index.js'));
      };
      await saveByRename('0');
      const made = trial([app], true);
      await made.folders.start();
      await made.clock.advance(0);
      for (const save of [1, 2, 3]) {
        await saveByRename(String(save));
        await eventually(async () => {
          await made.clock.advance(200);
          expect(made.requests).toHaveLength(1 + save);
        });
      }
      await made.folders.stop();
    });
  });
});
