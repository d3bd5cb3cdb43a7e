import { deadlineAfter, type Clock, type Observe } from '@drover/service-kit';
import type { JobHostManager } from '../job-hosts/job-host-manager.js';
import type { JobHostObservation } from '../job-hosts/job-host-observations.js';
import type { JobHost } from '../job-hosts/job-host.js';
import type { WorkerLifecycle } from '../worker-lifecycle/worker-lifecycle.js';
import type { FunctionWorkerRegistry } from '../workers/function-worker-registry.js';
import type { ApplicationObservation } from './application-observations.js';
import type { ApplicationVersion } from './application-version.js';
import { DeployedVersion } from './deployed-version.js';

/** Starts workers for application versions. */
export interface WorkerLauncher {
  /** Keeps the configured number of workers of a version running. Calls `onFailing` when they die before one is ready. */
  run(version: ApplicationVersion, onFailing?: (text: string) => void): void;
  /** Starts no more workers of a version. Running ones are ended by the caller. */
  cease(versionKey: string): void;
  /** Estimates when the next worker of a version is ready; undefined if its workers are started elsewhere. */
  readyInMs(versionKey: string): number | undefined;
}

interface ApplicationDeploymentsOptions {
  readonly jobHosts: JobHostManager;
  readonly registry: FunctionWorkerRegistry;
  readonly lifecycle: WorkerLifecycle;
  readonly launcher: WorkerLauncher;
  readonly clock: Clock;
  readonly observe: Observe<ApplicationObservation | JobHostObservation>;
  /** Time limit for the drain of a job host that was replaced. */
  readonly drainTimeoutMs: number;
}

interface DeployedApplication {
  readonly versions: Map<string, DeployedVersion>;
  /** Key of the job host that receives new events. */
  currentJobHost: string | undefined;
  /** Traffic shares by code version; empty: all traffic goes to the newest version. */
  shares: ReadonlyMap<string, number>;
  /** Deployments that are not ready yet, by code version. */
  readonly pending: Map<string, { readonly begin: (host: JobHost) => void; readonly fail: (error: unknown) => void }>;
}

/**
 * The deployed applications and their versions. A code version with known metadata joins the existing job host and gets its
 * share of the traffic; one with new metadata gets its own job host, and the old job host stops once the new one serves.
 * A version is never removed before its replacement is ready.
 */
export class ApplicationDeployments {
  readonly #options: ApplicationDeploymentsOptions;
  readonly #applications = new Map<string, DeployedApplication>();

  constructor(options: ApplicationDeploymentsOptions) {
    this.#options = options;
  }

  /** Finds a version by its key, or the newest one of an application by the key of that (`tenant/application`). */
  find(key: string): DeployedVersion | undefined {
    for (const { versions } of this.#applications.values())
      for (const version of versions.values()) if (version.key === key) return version;
    return [...(this.#applications.get(key)?.versions.values() ?? [])].at(-1);
  }

  /** Returns the job host that currently serves an application. */
  serving(tenantId: string, applicationId: string): JobHost | undefined {
    const key = this.#applications.get(`${tenantId}/${applicationId}`)?.currentJobHost;
    return key === undefined ? undefined : this.#options.jobHosts.get(key);
  }

  /** Returns why an application or a job host has no workers, by its key; undefined if its workers are well or still start. */
  failureOf(key: string): string | undefined {
    for (const [applicationKey, { versions }] of this.#applications)
      for (const { jobHostKey, failure } of versions.values())
        if (failure !== undefined && (applicationKey === key || jobHostKey === key)) return failure;
    return undefined;
  }

  /** Estimates when a job host without workers has one again; 0 if it has one. */
  readyInMs(host: JobHost): number {
    if (host.router.size > 0) return 0;
    const versions = [...this.#applications.values()].flatMap((application) => [...application.versions.values()]);
    const times = versions
      .filter(({ jobHostKey }) => jobHostKey === host.key)
      .flatMap(({ key }) => this.#options.launcher.readyInMs(key) ?? []);
    return times.length === 0 ? 0 : Math.min(...times);
  }

  /**
   * Deploys a version. Resolves when one of its workers is ready, rejects if the application is broken. With `sharePercent`,
   * the other versions keep the rest of the traffic. Calls `onFailing` when its workers end before one is ready: they are started
   * again until one is.
   */
  deploy(
    version: ApplicationVersion,
    { sharePercent, onFailing }: { readonly sharePercent?: number; readonly onFailing?: () => void } = {},
  ): Promise<JobHost> {
    const application = this.#applicationOf(version);
    const deployed = application.versions.get(version.codeVersion) ?? new DeployedVersion(version);
    application.versions.set(version.codeVersion, deployed);
    const serving = new Promise<JobHost>((resolve, reject) => {
      application.pending.set(version.codeVersion, {
        begin: (host) => {
          this.#takeOver(application, version.codeVersion, host, sharePercent);
          resolve(host);
        },
        fail: reject,
      });
    });
    serving.catch(() => undefined); // the caller may not wait for it
    // A version that joins others has no share until it is ready.
    const host = this.serving(version.tenantId, version.applicationId);
    if (host && application.shares.size === 0) this.#setShares(application, host, allTo(host.router.versions));
    this.#options.launcher.run(version, (text) => {
      deployed.failure = `its function workers end before one is ready: ${text}`;
      onFailing?.();
    });
    return serving;
  }

  /**
   * Returns the functions that the versions which serve have, and a new version with these functions has not. Empty if the
   * version serves already, or is the first one.
   */
  lostBy({ version }: DeployedVersion, functions: ReadonlySet<string>): readonly string[] {
    const { pending, versions } = this.#applicationOf(version);
    if (!pending.has(version.codeVersion)) return [];
    const served = [...versions.values()].flatMap(({ loaded }) => [...(loaded ?? [])]);
    return [...new Set(served)].filter((name) => !functions.has(name));
  }

  /** Records that a worker of a version is ready in a job host. */
  recordReady(versionKey: string, host: JobHost): void {
    const deployed = this.find(versionKey);
    if (!deployed) return;
    deployed.failure = undefined;
    const { pending } = this.#applicationOf(deployed.version);
    const deployment = pending.get(deployed.version.codeVersion);
    pending.delete(deployed.version.codeVersion);
    deployment?.begin(host);
  }

  /** Ends a deployment whose application is at fault. A version that was ready before keeps running. */
  recordBroken(versionKey: string, error: unknown): void {
    const deployed = this.find(versionKey);
    if (!deployed) return;
    const { codeVersion } = deployed.version;
    const { pending, versions } = this.#applicationOf(deployed.version);
    const deployment = pending.get(codeVersion);
    if (!deployment) return;
    pending.delete(codeVersion);
    versions.delete(codeVersion);
    this.#options.launcher.cease(versionKey);
    deployment.fail(error);
  }

  /** Sets the traffic share of each code version. A version without a share gets no traffic and keeps its workers. */
  shift(tenantId: string, applicationId: string, shares: ReadonlyMap<string, number>): void {
    const application = this.#applications.get(`${tenantId}/${applicationId}`);
    const host = this.serving(tenantId, applicationId);
    if (application && host) this.#setShares(application, host, shares);
  }

  /** Removes a version. Its workers drain. */
  async retire(version: ApplicationVersion): Promise<void> {
    const application = this.#applicationOf(version);
    const deployed = application.versions.get(version.codeVersion);
    if (!deployed) return;
    application.versions.delete(version.codeVersion);
    this.#options.launcher.cease(deployed.key);
    const workers = this.#options.registry.all().filter((worker) => worker.applicationKey === deployed.key);
    await Promise.all(workers.map((worker) => this.#options.lifecycle.retire(worker)));
  }

  #applicationOf({ tenantId, applicationId }: ApplicationVersion): DeployedApplication {
    const key = `${tenantId}/${applicationId}`;
    const known = this.#applications.get(key);
    if (known) return known;
    const application: DeployedApplication = {
      versions: new Map(),
      currentJobHost: undefined,
      shares: new Map(),
      pending: new Map(),
    };
    this.#applications.set(key, application);
    return application;
  }

  #takeOver(
    application: DeployedApplication,
    codeVersion: string,
    host: JobHost,
    sharePercent: number | undefined,
  ): void {
    const before = application.currentJobHost;
    application.currentJobHost = host.key;
    if (before !== undefined && before !== host.key) {
      application.shares = new Map();
      void this.#stopReplaced(application, before);
    } else if (sharePercent === undefined) {
      if (application.shares.size > 0) this.#setShares(application, host, new Map([[codeVersion, 100]]));
    } else this.#setShares(application, host, withShare(application.shares, codeVersion, sharePercent));
  }

  #setShares(application: DeployedApplication, host: JobHost, shares: ReadonlyMap<string, number>): void {
    application.shares = shares;
    host.router.setTraffic(shares);
    this.#options.observe({ kind: 'application.traffic', application: host.key, weights: Object.fromEntries(shares) });
  }

  /** New events already go to the new job host; the old one drains and stops, then its versions are retired. */
  async #stopReplaced(application: DeployedApplication, oldKey: string): Promise<void> {
    const { jobHosts, clock, drainTimeoutMs, observe } = this.#options;
    const replaced = [...application.versions.values()].filter(({ jobHostKey }) => jobHostKey === oldKey);
    await jobHosts.stop(oldKey, deadlineAfter(clock, drainTimeoutMs).signal);
    observe({ kind: 'job-host.stopped', jobHost: oldKey });
    await Promise.all(replaced.map(({ version }) => this.retire(version)));
  }
}

function allTo(versions: Iterable<string>): ReadonlyMap<string, number> {
  return new Map([...versions].map((version) => [version, 100]));
}

/** Gives a version its percentage; the others divide the rest in proportion to their current shares. */
function withShare(
  shares: ReadonlyMap<string, number>,
  codeVersion: string,
  percent: number,
): ReadonlyMap<string, number> {
  const others = [...shares].filter(([version, weight]) => version !== codeVersion && weight > 0);
  const total = others.reduce((sum, [, weight]) => sum + weight, 0);
  const rest = others.map(([version, weight]) => [version, (weight / total) * (100 - percent)] as const);
  return new Map([...rest, [codeVersion, percent]]);
}
