import { once } from 'node:events';
import { watch, type FSWatcher } from 'node:fs';
import path from 'node:path';
import { deadlineAfter, type Clock, type Lifecycle, type Observe } from '@drover/service-kit';
import { applicationIdOf } from '../applications/application-key.js';
import { codeVersion } from '../applications/code-version.js';
import { readApplication, type Application } from '../applications/read-application.js';
import { applicationBroken } from '../errors.js';
import type { JobHostManager } from '../job-hosts/job-host-manager.js';
import type { ApplicationDeployments } from './application-deployments.js';
import type { ApplicationObservation } from './application-observations.js';
import { versionKey, type ApplicationVersion } from './application-version.js';

interface ApplicationFoldersOptions {
  readonly directories: readonly string[];
  readonly tenantId: string;
  /** The part of the environment that applications may see. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Settings of applications that do not set them. */
  readonly defaults: Readonly<Record<string, string>>;
  readonly deployments: ApplicationDeployments;
  readonly jobHosts: JobHostManager;
  readonly isHotReload: boolean;
  /** How long `start` waits for the first workers. */
  readonly startWithinMs: number;
  readonly clock: Clock;
  readonly observe: Observe<ApplicationObservation>;
}

interface StartedDeployment {
  readonly version: ApplicationVersion;
  /** Resolves when the version serves, or has failed, or its workers end before one is ready. */
  readonly serving: Promise<void>;
}

/** Editors write several files at a time: the deployment waits until changes pause for this long. */
const settleMs = 200;
/** Changes in these folders never change the application's own code. */
const ignored = /(^|[\\/])(node_modules|\.git)([\\/]|$)/;

/** Deploys the applications in the configured folders at the start and, with hot reload, again when their files change. */
export class ApplicationFolders implements Lifecycle {
  readonly name = 'application folders';
  /** Ids of the applications, in the order of the folders. */
  readonly names: readonly string[];
  readonly #options: ApplicationFoldersOptions;
  /** By version key. */
  readonly #applications = new Map<string, Application>();
  /** Why the current files of an application cannot run, by its id. */
  readonly #problems = new Map<string, string>();
  readonly #watchers: FSWatcher[] = [];
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

  /** Rejects only if no folder holds an application; a broken application does not stop the others from being served. */
  async start(signal: AbortSignal): Promise<void> {
    const { clock, startWithinMs, directories } = this.#options;
    const deployed: Promise<unknown>[] = [];
    const failures: unknown[] = [];
    for (const directory of directories) {
      try {
        const { serving } = await this.#deploy(directory, undefined);
        deployed.push(serving);
        if (this.#options.isHotReload) this.#watch(directory);
      } catch (error) {
        failures.push(error);
        this.#report(applicationIdOf(directory), error);
      }
    }
    if (failures.length > 0 && deployed.length === 0) throw failures[0];
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

  /** Deploys the current files. The version `before` is retired once the new one serves, and keeps running if it fails. */
  async #deploy(directory: string, before: ApplicationVersion | undefined): Promise<StartedDeployment> {
    const { deployments } = this.#options;
    const applicationId = applicationIdOf(directory);
    const { version, application } = await this.#read(directory, applicationId);
    this.#applications.set(versionKey(version), application);
    if (before?.codeVersion === version.codeVersion) return { version: before, serving: Promise.resolve() };
    let stopWaiting = (): void => undefined;
    const failing = new Promise<void>((resolve) => (stopWaiting = resolve));
    const served = deployments.deploy(version, { onFailing: stopWaiting }).then(
      async () => {
        this.#problems.delete(applicationId);
        if (!before) return;
        await deployments.retire(before);
        this.#applications.delete(versionKey(before));
      },
      (error: unknown) => this.#report(applicationId, error),
    );
    return { version, serving: Promise.race([served, failing]) };
  }

  /** Throws RUNTIME_APPLICATION_BROKEN if a configuration file has errors; warnings are observed. */
  async #read(
    directory: string,
    applicationId: string,
  ): Promise<{ readonly version: ApplicationVersion; readonly application: Application }> {
    const { tenantId, observe, environment } = this.#options;
    const application = await readApplication(directory, environment);
    for (const { severity, file, problem } of application.problems)
      if (severity === 'warning')
        observe({ kind: 'application.warning', application: applicationId, problem: `${file}: ${problem}` });
    const errors = application.problems.filter(({ severity }) => severity === 'error');
    if (errors.length > 0)
      throw applicationBroken({ applicationId, problems: errors.map(({ file, problem }) => `${file}: ${problem}`) });
    const version: ApplicationVersion = {
      tenantId,
      applicationId,
      codeVersion: await codeVersion(directory),
      directory: application.directory,
      environment: { ...this.#options.defaults, ...application.settings.toEnvironment() },
    };
    return { version, application };
  }

  #report(applicationId: string, error: unknown): void {
    const problem = messageOf(error);
    this.#problems.set(applicationId, problem);
    this.#options.observe({ kind: 'application.problem', application: applicationId, problem });
  }

  #watch(directory: string): void {
    let current = Promise.resolve(this.#deployedFrom(directory));
    const redeploy = async (before: ApplicationVersion | undefined): Promise<ApplicationVersion | undefined> => {
      try {
        return this.#isStopped ? before : (await this.#deploy(directory, before)).version;
      } catch (error) {
        this.#report(applicationIdOf(directory), error);
        return before;
      }
    };
    const onChange = (): void => {
      this.#pending.get(directory)?.();
      const cancel = this.#options.clock.after(settleMs, () => {
        this.#pending.delete(directory);
        current = current.then(redeploy); // one deployment at a time
      });
      this.#pending.set(directory, cancel);
    };
    this.#watchers.push(
      watch(directory, { recursive: true }, (_event, file) => {
        if (file !== null && !ignored.test(file)) onChange();
      }),
    );
  }

  #deployedFrom(directory: string): ApplicationVersion | undefined {
    const found = [...this.#applications].find(([, application]) => application.directory === path.resolve(directory));
    return found && this.#options.deployments.find(found[0])?.version;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
