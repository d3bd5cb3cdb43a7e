import { existsSync } from 'node:fs';
import path from 'node:path';
import type { ApplicationCatalog, CatalogApplication, CatalogVersion } from '@drover/application-catalog';
import { applicationNameOfFolder, isCodedError, type TenantId } from '@drover/contracts';
import {
  BackOff,
  FolderWatch,
  messageOf,
  sleep,
  type Clock,
  type Lifecycle,
  type Observe,
  type PartHealth,
  type Randomness,
} from '@drover/service-kit';
import type { Deployer } from './deployer.js';
import type { DeploymentObservation } from './observations.js';

export interface FolderDeploymentsOptions {
  readonly directories: readonly string[];
  readonly tenantId: TenantId;
  readonly isHotReload: boolean;
  /** The only functions that run; empty: all. */
  readonly onlyFunctions: readonly string[];
  readonly catalog: Pick<ApplicationCatalog, 'list' | 'find' | 'beginRemoval'>;
  readonly deployer: Pick<Deployer, 'deploy'>;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<DeploymentObservation>;
}

/** Editors write several files at a time: the deployment waits until changes pause for this long. */
const settleMs = 200;
/** Changes in these folders never change the application's own code. */
const ignored = new Set(['node_modules', '.git']);
/** Short at first: right after a start, only the runtime is not there yet. */
const retryPolicy = { firstMs: 20, maxMs: 2_000, factor: 1.5 };

/** A folder and what became of it. */
interface WatchedFolder {
  readonly directory: string;
  readonly applicationId: string;
  watcher: FolderWatch | undefined;
  /** Cancels the timer after a change. */
  cancelSettling: (() => void) | undefined;
  /** Deployments of one folder run one after the other. */
  turn: Promise<void>;
  /** Deployments that have begun, and the last one that ended. */
  begun: number;
  ended: number;
  /** Why its current files are not deployed. */
  problem: string | undefined;
  /** What is wrong with its current version, as it was reported: a save does not repeat it. */
  reported: ReadonlySet<string>;
}

/**
 * Deploys the folders of `drover up --app`, and with hot reload deploys them again when their files change. A failed deployment leaves the
 * version before it in place; one that fails for a reason that may pass, such as a runtime that still starts, is tried again.
 */
export class FolderDeployments implements Lifecycle {
  readonly name = 'application folders';
  readonly #options: FolderDeploymentsOptions;
  readonly #folders: readonly WatchedFolder[];
  readonly #stopping = new AbortController();
  #starting: Promise<void> = Promise.resolve();

  constructor(options: FolderDeploymentsOptions) {
    this.#options = options;
    this.#folders = options.directories.map((directory) => ({
      directory: path.resolve(directory),
      applicationId: applicationNameOfFolder(path.basename(path.resolve(directory))),
      watcher: undefined,
      cancelSettling: undefined,
      turn: Promise.resolve(),
      begun: 0,
      ended: 0,
      problem: undefined,
      reported: new Set<string>(),
    }));
  }

  /** Does not wait for the deployments: they need a runtime, which starts at the same time. */
  async start(): Promise<void> {
    for (const folder of this.#folders) {
      const twin = this.#folders.find(({ applicationId }) => applicationId === folder.applicationId);
      if (twin && twin !== folder) {
        this.#refuse(folder, `${twin.directory} has the same name as ${folder.directory}. Rename one of the folders`);
        continue;
      }
      this.#enqueue(folder);
      if (this.#options.isHotReload && existsSync(folder.directory)) this.#watch(folder);
    }
    this.#starting = this.#removeOthers();
  }

  async drain(): Promise<void> {
    this.#close();
  }

  async stop(): Promise<void> {
    this.#close();
    await Promise.all([this.#starting, ...this.#folders.map(({ turn }) => turn)]);
  }

  /** Ready when the first deployment of every folder has ended and one of them, if there are any, succeeded. */
  health(): PartHealth {
    const pending = this.#folders.filter(({ ended }) => ended === 0).map(({ applicationId }) => applicationId);
    const broken = this.#folders.filter(({ problem }) => problem !== undefined);
    return {
      isReady: pending.length === 0 && (broken.length === 0 || broken.length < this.#folders.length),
      problems: {
        ...(pending.length > 0 && { deployments: `${pending.join(', ')}: not deployed yet` }),
        ...Object.fromEntries(
          broken.map(({ applicationId, problem = '' }) => [`application ${applicationId}`, problem]),
        ),
      },
    };
  }

  #close(): void {
    this.#stopping.abort();
    for (const folder of this.#folders) {
      folder.watcher?.close();
      folder.cancelSettling?.();
    }
  }

  #enqueue(folder: WatchedFolder): void {
    folder.begun += 1;
    const number = folder.begun;
    folder.turn = folder.turn.then(async () => {
      // Only the newest change counts.
      if (number === folder.begun) await this.#deploy(folder, number);
    });
  }

  async #deploy(folder: WatchedFolder, number: number): Promise<void> {
    const { signal } = this.#stopping;
    const backOff = new BackOff(retryPolicy, this.#options);
    while (!signal.aborted && number === folder.begun) {
      const failure = await this.#tryDeploy(folder).then(
        () => undefined,
        (error: unknown) => ({ error }),
      );
      if (failure && isCodedError(failure.error) && failure.error.retryable) {
        await sleep(this.#options.clock, backOff.nextMs(), signal).catch(() => undefined);
        continue;
      }
      folder.problem = undefined;
      if (failure) {
        if (folder.ended === 0) await this.#removeStale(folder);
        this.#refuse(folder, messageOf(failure.error));
      }
      folder.ended = number;
      return;
    }
  }

  #refuse(folder: WatchedFolder, problem: string): void {
    folder.ended = Math.max(folder.ended, 1);
    folder.problem = problem;
    this.#options.observe({ kind: 'application.folder-refused', applicationId: folder.applicationId, problem });
  }

  /**
   * Removes what an earlier start deployed from a folder whose files cannot run now: no worker has the old ones any more, and a new
   * worker would load the new files under the name of the old version.
   */
  async #removeStale({ applicationId }: WatchedFolder): Promise<void> {
    const { catalog, tenantId, observe } = this.#options;
    try {
      const stored = await catalog.find({ tenantId, applicationId });
      if (!stored || stored.isDeleting || !isWatched(stored)) return;
      await catalog.beginRemoval(stored);
      observe({ kind: 'application.deleting', tenantId, applicationId });
    } catch (error) {
      const problem = `its former version was not removed: ${messageOf(error)}`;
      observe({ kind: 'application.folder-problem', applicationId, problem });
    }
  }

  async #tryDeploy(folder: WatchedFolder): Promise<void> {
    const { directory, applicationId, ended } = folder;
    const { tenantId, deployer, onlyFunctions } = this.#options;
    const { version } = await deployer.deploy({
      tenantId,
      applicationId,
      from: { directory, isWatched: true },
      // Its other settings are those of the folder, which the runtime reads.
      settings: onlyTheseRun(onlyFunctions),
      trafficPercent: 100,
      isLenient: true,
      // After a start, no worker has the code of the version before: what can be loaded is better than nothing.
      keepsFunctions: ended > 0,
      reason: 'the files of its folder',
    });
    this.#reportNew(folder, version);
  }

  /** Reports what is wrong with a deployed version, unless it was with the one before. */
  #reportNew(folder: WatchedFolder, version: CatalogVersion): void {
    const { observe, onlyFunctions } = this.#options;
    const { applicationId, reported } = folder;
    const problems = version.index.problems.map(({ functionName, problem }) => `function ${functionName}: ${problem}`);
    const missing = this.#folders.length > 1 ? [] : missingOf(onlyFunctions, version);
    if (missing.length > 0)
      problems.push(`it has no function ${missing.join(', ')}; only these were to run: ${onlyFunctions.join(', ')}`);
    folder.reported = new Set(problems);
    for (const problem of folder.reported)
      if (!reported.has(problem)) observe({ kind: 'application.folder-problem', applicationId, problem });
  }

  /** An application that an earlier start watched, and this one does not, is not served any more. */
  async #removeOthers(): Promise<void> {
    const { catalog, tenantId, observe } = this.#options;
    const mine = new Set(this.#folders.map(({ applicationId }) => applicationId));
    try {
      const others = (await catalog.list(tenantId)).filter(
        (application) => !mine.has(application.applicationId) && !application.isDeleting && isWatched(application),
      );
      for (const application of others) {
        await catalog.beginRemoval(application);
        observe({ kind: 'application.deleting', tenantId, applicationId: application.applicationId });
      }
    } catch (error) {
      const problem = `applications of former folders were not removed: ${messageOf(error)}`;
      observe({ kind: 'application.folder-problem', applicationId: 'catalog', problem });
    }
  }

  #watch(folder: WatchedFolder): void {
    const { directory, applicationId } = folder;
    folder.watcher = new FolderWatch({
      directory,
      ignored,
      onChange: () => {
        if (this.#stopping.signal.aborted) return;
        folder.cancelSettling?.();
        folder.cancelSettling = this.#options.clock.after(settleMs, () => this.#enqueue(folder));
      },
      onProblem: (error) => {
        const problem = `not all changes of its files are noticed: ${messageOf(error)}`;
        this.#options.observe({ kind: 'application.folder-problem', applicationId, problem });
      },
    });
  }
}

/** Overrides `functions` of host.json, as in the official host. Settings are part of a version: another choice is another version. */
function onlyTheseRun(names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name, index) => [`AzureFunctionsJobHost__functions__${index}`, name]));
}

function missingOf(names: readonly string[], { index }: CatalogVersion): readonly string[] {
  const known = new Set(
    [...index.functions.map(({ name }) => name), ...index.problems.map((one) => one.functionName)].map((name) =>
      name.toLowerCase(),
    ),
  );
  return names.filter((name) => !known.has(name.toLowerCase()));
}

function isWatched({ versions }: CatalogApplication): boolean {
  return versions.every(({ source }) => source.kind === 'folder' && source.isWatched);
}
