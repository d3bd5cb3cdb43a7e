import type { Observe } from '@drover/service-kit';
import type { JobHostManager } from '../job-hosts/job-host-manager.js';
import type { JobHost } from '../job-hosts/job-host.js';
import type { ApplicationObservation } from './application-observations.js';
import type { JobHostObservation } from '../job-hosts/job-host-observations.js';
import type { FunctionWorkerRegistry } from '../workers/function-worker-registry.js';
import type { WorkerLifecycle } from '../worker-lifecycle/worker-lifecycle.js';
import type { ApplicationVersion } from './application-version.js';
import { DeployedVersion } from './deployed-version.js';

/** Whoever gives an application its workers. */
export interface WorkerLauncher {
  /** Keeps so many workers of that version running. */
  run(version: ApplicationVersion): void;
  /** No new ones of it; those that run are ended by whoever asks. */
  cease(versionKey: string): void;
}

export interface ApplicationDeploymentsOptions {
  readonly jobHosts: JobHostManager;
  readonly registry: FunctionWorkerRegistry;
  readonly lifecycle: WorkerLifecycle;
  readonly launcher: WorkerLauncher;
  readonly observe: Observe<ApplicationObservation | JobHostObservation>;
  /** How long the workers and listeners of a version that is replaced may finish what they have. */
  readonly drainSignal: () => AbortSignal;
}

interface Application {
  readonly versions: Map<string, DeployedVersion>;
  /** The one that new events go to. */
  current: string | undefined;
  /** Shares that were asked for, by code version. */
  shares: ReadonlyMap<string, number>;
  /** The newest version takes over all traffic as soon as it is ready, unless its share was given. */
  readonly waiting: Map<string, { readonly begin: (host: JobHost) => void; readonly fail: (error: unknown) => void }>;
}

/**
 * The applications that are deployed here and their versions.
 *
 * A new code version with the same metadata joins the job host that is there, and takes over as much traffic as it is given;
 * one with other metadata gets a job host of its own, and the old one is stopped when the new one serves. Nothing is taken
 * away before what replaces it is ready.
 */
export class ApplicationDeployments {
  readonly #options: ApplicationDeploymentsOptions;
  readonly #applications = new Map<string, Application>();

  constructor(options: ApplicationDeploymentsOptions) {
    this.#options = options;
  }

  /** The version that a worker was started for. */
  find(key: string): DeployedVersion | undefined {
    for (const { versions } of this.#applications.values())
      for (const version of versions.values()) if (version.key === key) return version;
    return undefined;
  }

  /** The job host that serves an application now. */
  serving(tenantId: string, applicationId: string): JobHost | undefined {
    const key = this.#applications.get(`${tenantId}/${applicationId}`)?.current;
    return key === undefined ? undefined : this.#options.jobHosts.get(key);
  }

  /** Resolves when a worker of that version serves, rejects when the application is broken; with `sharePercent` the others keep the rest of the traffic. */
  deploy(version: ApplicationVersion, { sharePercent }: { readonly sharePercent?: number } = {}): Promise<JobHost> {
    const application = this.#applicationOf(version);
    const deployed = application.versions.get(version.codeVersion) ?? new DeployedVersion(version);
    application.versions.set(version.codeVersion, deployed);
    const serving = new Promise<JobHost>((resolve, reject) => {
      application.waiting.set(version.codeVersion, {
        begin: (host) => {
          this.#takeOver(application, version.codeVersion, host, sharePercent);
          resolve(host);
        },
        fail: reject,
      });
    });
    serving.catch(() => undefined); // whoever deploys may not wait
    // Until it is told what share it has, a version that joins others has none.
    const host = this.serving(version.tenantId, version.applicationId);
    if (host && application.shares.size === 0) this.#setShares(application, host, onlyShare(host));
    this.#options.launcher.run(version);
    return serving;
  }

  /** A worker of that version is ready in this job host. */
  noteReady(key: string, host: JobHost): void {
    const deployed = this.find(key);
    if (!deployed) return;
    const application = this.#applicationOf(deployed.version);
    const waiting = application.waiting.get(deployed.version.codeVersion);
    application.waiting.delete(deployed.version.codeVersion);
    waiting?.begin(host);
  }

  /** The application itself is at fault: other workers would find the same. */
  noteBroken(key: string, error: unknown): void {
    const deployed = this.find(key);
    if (!deployed) return;
    const { codeVersion } = deployed.version;
    const application = this.#applicationOf(deployed.version);
    const waiting = application.waiting.get(codeVersion);
    if (!waiting) return; // it has served before
    application.waiting.delete(codeVersion);
    application.versions.delete(codeVersion);
    this.#options.launcher.cease(key);
    waiting.fail(error);
  }

  /** Gives each code version its share; those without one get nothing, and keep their workers. */
  shift(tenantId: string, applicationId: string, shares: ReadonlyMap<string, number>): void {
    const application = this.#applications.get(`${tenantId}/${applicationId}`);
    const host = this.serving(tenantId, applicationId);
    if (application && host) this.#setShares(application, host, shares);
  }

  /** Ends a version: its workers finish what they have. */
  async retire(version: ApplicationVersion): Promise<void> {
    const application = this.#applicationOf(version);
    const deployed = application.versions.get(version.codeVersion);
    if (!deployed) return;
    application.versions.delete(version.codeVersion);
    this.#options.launcher.cease(deployed.key);
    const workers = this.#options.registry.all().filter((worker) => worker.applicationKey === deployed.key);
    await Promise.all(workers.map((worker) => this.#options.lifecycle.retire(worker)));
  }

  #applicationOf({ tenantId, applicationId }: ApplicationVersion): Application {
    const key = `${tenantId}/${applicationId}`;
    const known = this.#applications.get(key);
    if (known) return known;
    const application: Application = { versions: new Map(), current: undefined, shares: new Map(), waiting: new Map() };
    this.#applications.set(key, application);
    return application;
  }

  #takeOver(application: Application, codeVersion: string, host: JobHost, sharePercent: number | undefined): void {
    const before = application.current;
    application.current = host.key;
    if (before !== undefined && before !== host.key) {
      application.shares = new Map();
      void this.#stopReplaced(application, before, host.key);
    } else if (sharePercent === undefined) {
      if (application.shares.size > 0) this.#setShares(application, host, new Map([[codeVersion, 100]]));
    } else this.#setShares(application, host, withShare(application.shares, codeVersion, sharePercent));
  }

  #setShares(application: Application, host: JobHost, shares: ReadonlyMap<string, number>): void {
    application.shares = shares;
    host.router.setTraffic(shares);
    this.#options.observe({ kind: 'application.traffic', application: host.key, weights: Object.fromEntries(shares) });
  }

  /** New events go to the new job host already; the old one takes no more, and its versions end with it. */
  async #stopReplaced(application: Application, oldKey: string, newKey: string): Promise<void> {
    const { jobHosts, drainSignal, observe } = this.#options;
    const old = [...application.versions.values()].filter(({ jobHostKey }) => jobHostKey === oldKey);
    await jobHosts.stop(oldKey, drainSignal());
    observe({ kind: 'job-host.stopped', jobHost: oldKey });
    if (oldKey !== newKey) await Promise.all(old.map(({ version }) => this.retire(version)));
  }
}

/** All to the versions that are there. */
function onlyShare(host: JobHost): ReadonlyMap<string, number> {
  return new Map([...host.router.versions].map((version) => [version, 100]));
}

/** The new one gets its percentage, the others share the rest as they did. */
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
