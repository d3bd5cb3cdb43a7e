import { once } from 'node:events';
import { watch, type FSWatcher } from 'node:fs';
import path from 'node:path';
import { deadlineAfter, type Clock, type Lifecycle, type Observe } from '@drover/service-kit';
import { codeVersion } from '../applications/code-version.js';
import { readApplication, type Application } from '../applications/read-application.js';
import { applicationBroken } from '../errors.js';
import type { JobHostManager } from '../job-hosts/job-host-manager.js';
import type { ApplicationObservation } from './application-observations.js';
import type { ApplicationDeployments } from './application-deployments.js';
import { versionKey, type ApplicationVersion } from './application-version.js';

export interface ApplicationFoldersOptions {
  readonly directories: readonly string[];
  readonly tenantId: string;
  /** What applications may see of ours. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly deployments: ApplicationDeployments;
  readonly jobHosts: JobHostManager;
  readonly isHotReload: boolean;
  /** How long the start waits for the first workers. */
  readonly startWithinMs: number;
  readonly clock: Clock;
  readonly observe: Observe<ApplicationObservation>;
}

interface Deployed {
  readonly version: ApplicationVersion;
  /** Resolves when it serves, or when it is known that it will not. */
  readonly serving: Promise<void>;
}

/** Files are often written several at a time. */
const settleMs = 200;
/** Never part of an app's own code, and full of changes. */
const ignored = /(^|[\\/])(node_modules|\.git)([\\/]|$)/;

/** Applications that lie in folders: deployed at the start, and again when their files change where that is asked for. */
export class ApplicationFolders implements Lifecycle {
  readonly name = 'application folders';
  readonly #options: ApplicationFoldersOptions;
  readonly #applications = new Map<string, Application>();
  readonly #watchers: FSWatcher[] = [];
  readonly #pending = new Map<string, () => void>();
  #isStopped = false;

  constructor(options: ApplicationFoldersOptions) {
    this.#options = options;
  }

  /** Ids of the applications. */
  get names(): readonly string[] {
    return this.#options.directories.map(applicationIdOf);
  }

  /** What the files of a version say. */
  applicationOf(key: string): Application {
    const application = this.#applications.get(key);
    if (!application) throw new Error(`nothing is known of ${key}`);
    return application;
  }

  /** Nothing but files that are no app is refused; an app that is broken does not keep the others from being served. */
  async start(signal: AbortSignal): Promise<void> {
    const { clock, startWithinMs, directories, observe } = this.#options;
    const deployed: Promise<unknown>[] = [];
    const refused: unknown[] = [];
    for (const directory of directories) {
      try {
        const { serving } = await this.#deploy(directory, undefined);
        deployed.push(serving);
        if (this.#options.isHotReload) this.#watch(directory);
      } catch (error) {
        refused.push(error);
        observe({ kind: 'application.problem', application: applicationIdOf(directory), problem: messageOf(error) });
      }
    }
    if (refused.length > 0 && deployed.length === 0) throw refused[0];
    const late = deadlineAfter(clock, startWithinMs, signal);
    await Promise.race([Promise.allSettled(deployed), once(late.signal, 'abort')]);
    late.cancel();
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

  /** The version it replaces goes on until the new one serves; one that is broken changes nothing. */
  async #deploy(directory: string, before: ApplicationVersion | undefined): Promise<Deployed> {
    const { tenantId, deployments, observe, environment } = this.#options;
    const applicationId = applicationIdOf(directory);
    const application = await readApplication(directory, environment);
    for (const { severity, file, problem } of application.problems)
      if (severity === 'warning')
        observe({ kind: 'application.problem', application: applicationId, problem: `${file}: ${problem}` });
    const errors = application.problems.filter(({ severity }) => severity === 'error');
    if (errors.length > 0)
      throw applicationBroken({ applicationId, problems: errors.map(({ file, problem }) => `${file}: ${problem}`) });
    const version: ApplicationVersion = {
      tenantId,
      applicationId,
      codeVersion: await codeVersion(directory),
      directory: application.directory,
      environment: { ...application.settings.toEnvironment() },
    };
    this.#applications.set(versionKey(version), application);
    if (before?.codeVersion === version.codeVersion) return { version: before, serving: Promise.resolve() };
    const serving = deployments.deploy(version).then(
      async () => {
        if (!before) return;
        await deployments.retire(before);
        this.#applications.delete(versionKey(before));
      },
      (error: unknown) => {
        observe({ kind: 'application.problem', application: applicationId, problem: messageOf(error) });
      },
    );
    return { version, serving };
  }

  #watch(directory: string): void {
    let current: Promise<ApplicationVersion | undefined> = this.#known(directory);
    const again = (): void => {
      this.#pending.get(directory)?.();
      const cancel = this.#options.clock.after(settleMs, () => {
        this.#pending.delete(directory);
        current = current.then(async (before) => {
          try {
            return this.#isStopped ? before : (await this.#deploy(directory, before)).version;
          } catch (error) {
            this.#options.observe({ kind: 'application.problem', application: directory, problem: messageOf(error) });
            return before;
          }
        });
      });
      this.#pending.set(directory, cancel);
    };
    this.#watchers.push(
      watch(directory, { recursive: true }, (_event, file) => {
        if (file !== null && !ignored.test(file)) again();
      }),
    );
  }

  async #known(directory: string): Promise<ApplicationVersion | undefined> {
    const found = [...this.#applications].find(([, { directory: where }]) => where === path.resolve(directory));
    return found && this.#options.deployments.find(found[0])?.version;
  }
}

/** An application in a folder is called as the folder is. */
function applicationIdOf(directory: string): string {
  return path.basename(path.resolve(directory)).replace(/[^A-Za-z0-9._-]/g, '-');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
