import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { deadlineAfter, FolderWatch, messageOf, type Clock, type Lifecycle, type Observe } from '@drover/service-kit';
import { applicationIdOf } from '../applications/application-key.js';
import { codeVersion } from '../applications/code-version.js';
import type { Application } from '../applications/read-application.js';
import type { JobHostManager } from '../job-hosts/job-host-manager.js';
import type { ApplicationDeployments } from './application-deployments.js';
import type { ApplicationObservation } from './application-observations.js';
import { versionKey, type ApplicationVersion } from './application-version.js';
import { readRunnable } from './read-runnable.js';

interface ApplicationFoldersOptions {
  readonly directories: readonly string[];
  readonly tenantId: string;
  /** The part of the environment that applications may see. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Settings of applications that do not set them. */
  readonly defaults: Readonly<Record<string, string>>;
  /** `AzureWebJobsStorage` of applications that do not set it is the emulator on this machine. */
  readonly hasDevelopmentStorage: boolean;
  readonly deployments: ApplicationDeployments;
  readonly jobHosts: JobHostManager;
  readonly isHotReload: boolean;
  /** How long `start` waits for the first workers. */
  readonly startWithinMs: number;
  readonly clock: Clock;
  readonly observe: Observe<ApplicationObservation>;
}

/** Editors write several files at a time: the deployment waits until changes pause for this long. */
const settleMs = 200;
/** Changes in these folders never change the application's own code. */
const ignored = new Set(['node_modules', '.git']);

/** Deploys the applications in the configured folders at the start and, with hot reload, again when their files change. */
export class ApplicationFolders implements Lifecycle {
  readonly name = 'application folders';
  /** Ids of the applications, in the order of the folders. */
  readonly names: readonly string[];
  readonly #options: ApplicationFoldersOptions;
  /** The version that serves, by directory. */
  readonly #serving = new Map<string, ApplicationVersion>();
  /** By version key. */
  readonly #applications = new Map<string, Application>();
  /** Why the current files of an application cannot run, by its id. */
  readonly #problems = new Map<string, string>();
  readonly #watchers: FolderWatch[] = [];
  /** Cancels the timer of a folder whose files have just changed. */
  readonly #pending = new Map<string, () => void>();
  #isStopped = false;

  constructor(options: ApplicationFoldersOptions) {
    this.#options = options;
    this.names = options.directories.map(applicationIdOf);
  }

  /** Returns the configuration files of a deployed version. */
  applicationOf(key: string): Application {
    const application = this.#applications.get(key);
    if (!application) throw new Error(`application version ${key} is not deployed from a folder`);
    return application;
  }

  /** Returns why the current files of an application cannot run; undefined if they can, or it is not known yet. */
  problemOf(applicationId: string): string | undefined {
    return this.#problems.get(applicationId);
  }

  /**
   * Rejects only if no folder holds an application that runs, or that is watched and may be repaired. A broken application does not
   * stop the others from being served.
   */
  async start(signal: AbortSignal): Promise<void> {
    const { clock, startWithinMs, directories } = this.#options;
    const deployed: Promise<unknown>[] = [];
    const failures: unknown[] = [];
    for (const directory of directories) {
      try {
        deployed.push((await this.#deploy(directory)).ended);
      } catch (error) {
        failures.push(error);
        this.#report(directory, messageOf(error));
      }
      if (this.#options.isHotReload && existsSync(directory)) this.#watch(directory);
    }
    if (failures.length > 0 && deployed.length === 0 && this.#watchers.length === 0) throw failures[0];
    const deadline = deadlineAfter(clock, startWithinMs, signal);
    await Promise.race([Promise.allSettled(deployed), once(deadline.signal, 'abort')]);
    deadline.cancel();
  }

  async drain(deadline: AbortSignal): Promise<void> {
    this.#close();
    await Promise.all(this.#options.jobHosts.all().map((host) => host.drain(deadline)));
  }

  async stop(): Promise<void> {
    this.#close();
    const now = AbortSignal.abort();
    await Promise.all(this.#options.jobHosts.all().map((host) => this.#options.jobHosts.stop(host.key, now)));
  }

  #close(): void {
    this.#isStopped = true;
    for (const watcher of this.#watchers.splice(0)) watcher.close();
    for (const cancel of this.#pending.values()) cancel();
    this.#pending.clear();
  }

  /**
   * Deploys the current files. The version that serves is retired once the new one does, and keeps serving if that fails. `ended`
   * resolves when the new version serves, or has failed, or its workers end before one is ready.
   */
  async #deploy(directory: string): Promise<{ readonly ended: Promise<void> }> {
    const { deployments } = this.#options;
    const { version, application } = await this.#read(directory, applicationIdOf(directory));
    const key = versionKey(version);
    this.#applications.set(key, application);
    const serving = this.#serving.get(directory);
    if (serving?.codeVersion === version.codeVersion) return { ended: this.#supersede(directory, version) };
    // A version that never served must not start another worker: it would load the new files under the old version.
    await this.#retireOthers(application, [key, ...(serving ? [versionKey(serving)] : [])]);
    const ended = new Promise<void>((resolve) => {
      const fail = (problem: string): void => {
        this.#report(directory, problem);
        resolve();
      };
      const onFailing = (): void => {
        // A version that serves already failed later: its deployment is over, and the deployments know its failure.
        if (this.#serving.get(directory) !== version)
          fail(deployments.find(key)?.failure ?? 'its function workers end');
      };
      deployments
        .deploy(version, { onFailing })
        .then(() => this.#supersede(directory, version))
        .then(resolve, (error: unknown) => fail(messageOf(error)));
    });
    return { ended };
  }

  /** Records the version that serves, and retires all others of its folder: the one before, and those that never served. */
  async #supersede(directory: string, version: ApplicationVersion): Promise<void> {
    const { observe } = this.#options;
    const application = applicationIdOf(directory);
    const isReload = this.#serving.has(directory);
    this.#serving.set(directory, version);
    this.#problems.delete(application);
    if (isReload) observe({ kind: 'application.reloaded', application });
    const own = this.#applications.get(versionKey(version));
    if (own) await this.#retireOthers(own, [versionKey(version)]);
  }

  /** Retires the versions of an application's folder, except those with these keys. */
  async #retireOthers({ directory }: Application, kept: readonly string[]): Promise<void> {
    const { deployments } = this.#options;
    const others = [...this.#applications].filter(
      ([key, other]) => other.directory === directory && !kept.includes(key),
    );
    for (const [key] of others) {
      const replaced = deployments.find(key);
      if (replaced) await deployments.retire(replaced.version);
      this.#applications.delete(key);
    }
  }

  /** Throws RUNTIME_APPLICATION_BROKEN if a configuration file has errors; warnings are observed. */
  async #read(
    directory: string,
    applicationId: string,
  ): Promise<{ readonly version: ApplicationVersion; readonly application: Application }> {
    const { tenantId, environment } = this.#options;
    const application = await readRunnable({ directory, applicationId, environment }, this.#options);
    const version: ApplicationVersion = {
      tenantId,
      applicationId,
      codeVersion: await codeVersion(directory),
      directory: application.directory,
      environment: { ...this.#options.defaults, ...application.settings.toEnvironment() },
    };
    return { version, application };
  }

  #report(directory: string, problem: string): void {
    const application = applicationIdOf(directory);
    this.#problems.set(application, problem);
    const kind = this.#serving.has(directory) ? 'application.not-reloaded' : 'application.problem';
    this.#options.observe({ kind, application, problem });
  }

  #watch(directory: string): void {
    let turn = Promise.resolve();
    const redeploy = async (): Promise<void> => {
      try {
        if (!this.#isStopped) await this.#deploy(directory);
      } catch (error) {
        this.#report(directory, messageOf(error));
      }
    };
    const onChange = (): void => {
      this.#pending.get(directory)?.();
      const cancel = this.#options.clock.after(settleMs, () => {
        this.#pending.delete(directory);
        turn = turn.then(redeploy); // one deployment at a time
      });
      this.#pending.set(directory, cancel);
    };
    const onProblem = (error: unknown): void => {
      const problem = `not all changes of its files are noticed: ${messageOf(error)}`;
      this.#options.observe({ kind: 'application.warning', application: applicationIdOf(directory), problem });
    };
    this.#watchers.push(new FolderWatch({ directory, ignored, onChange, onProblem }));
  }
}
