import type { HostedVersion } from '@drover/scale-link';
import type { Clock, Observe } from '@drover/service-kit';
import type { Application } from '../applications/read-application.js';
import type { SupportedBindings } from '../bindings/supported-bindings.js';
import { DeployedVersion, type JobHostHooks } from '../deployments/deployed-version.js';
import type { JobHostRecovery } from '../deployments/job-host-recovery.js';
import type { ServedApplication, ServedApplications } from '../deployments/served-applications.js';
import { fromStoredIndex } from '../deployments/stored-index.js';
import { applicationRemoved } from '../errors.js';
import type { JobHostManager } from '../job-hosts/job-host-manager.js';
import type { JobHostObservation } from '../job-hosts/job-host-observations.js';
import type { JobHost } from '../job-hosts/job-host.js';
import type { FunctionWorkerRegistry } from '../workers/function-worker-registry.js';
import { hostedJobHostStates } from './hosted-job-host-states.js';
import type { HostingObservation } from './hosting-observations.js';

/** The configuration files of a version and the complete environment of its workers. */
export interface ReadVersion {
  readonly application: Application;
  readonly environment: Readonly<Record<string, string>>;
}

export interface ActivationParts {
  /** Reads the files of a version, with the settings of its deployment. Throws RUNTIME_APPLICATION_BROKEN. */
  readonly read: (version: HostedVersion) => Promise<ReadVersion>;
  readonly supported: SupportedBindings;
  readonly jobHosts: JobHostManager;
  readonly recovery: JobHostRecovery;
  readonly served: ServedApplications;
  readonly registry: FunctionWorkerRegistry;
  readonly clock: Clock;
  readonly observe: Observe<HostingObservation | JobHostObservation>;
}

/** What a job host is opened for. */
interface ActivatedVersions {
  /** Returns a version by its code version. */
  version(codeVersion: string): HostedVersion | undefined;
  /** Returns the one that a new job host is created from; undefined if all were removed. */
  first(): HostedVersion | undefined;
  readonly hooks: () => JobHostHooks;
  readonly onParked: () => void;
}

/**
 * Opens the job host of one metadata version from its stored index, without a worker, and closes it. `hostedJobHostStates` has the
 * states. Calls during a close wait for its end and open the job host again.
 */
export class JobHostActivation {
  readonly #key: string;
  readonly #name: string;
  readonly #parts: ActivationParts;
  readonly #versions: ActivatedVersions;
  readonly #state;
  /** By code version; empty while parked. */
  readonly #deployed = new Map<string, Promise<DeployedVersion>>();
  /** Settles when the job host exists, or could not be created. */
  #composing: Promise<void> = Promise.resolve();
  /** Resolves when its listeners have started. */
  #started: Promise<JobHost> | undefined;
  #closed: Promise<void> = Promise.resolve();

  constructor(key: string, name: string, parts: ActivationParts, versions: ActivatedVersions) {
    this.#key = key;
    this.#name = name;
    this.#parts = parts;
    this.#versions = versions;
    this.#state = hostedJobHostStates.start('parked', ({ to }) =>
      parts.observe({ kind: 'hosting.job-host', jobHost: key, state: to }),
    );
  }

  get state(): (typeof hostedJobHostStates.all)[number] {
    return this.#state.current;
  }

  /** Undefined while there is no job host. */
  get current(): ServedApplication | undefined {
    if (!this.#state.is('opening', 'open')) return undefined;
    const served = this.#parts.served.byKey.get(this.#key);
    return served?.host.state === 'stopped' ? undefined : served; // it failed, and is being replaced
  }

  /** Resolves when the job host exists and takes calls; its listeners may still start. */
  async open(): Promise<ServedApplication> {
    for (;;) {
      const { current } = this;
      if (current) return current;
      switch (this.#state.current) {
        case 'removed':
          throw applicationRemoved({ application: this.#name });
        case 'closing':
          await this.#closed;
          break;
        case 'parked':
          this.#state.move('opening');
          await (this.#composing = this.#create());
          break;
        case 'opening':
          await this.#composing;
          if (!this.current) throw applicationRemoved({ application: this.#name });
          break;
        case 'open':
          await this.#replaceFailed();
      }
    }
  }

  /** Opens the job host. Resolves when its listeners have started. */
  async start(): Promise<JobHost> {
    await this.open();
    if (!this.#started) throw applicationRemoved({ application: this.#name });
    return await this.#started;
  }

  /** Opens the job host and returns a version that it serves. */
  async find(codeVersion: string): Promise<DeployedVersion | undefined> {
    await this.open();
    return this.#versions.version(codeVersion) && (await this.#deploy(codeVersion));
  }

  /** Forgets a version that is no longer served, or has changed. */
  forget(codeVersion: string): void {
    this.#deployed.delete(codeVersion);
  }

  /** Drains and stops the job host. */
  close(deadline: AbortSignal): Promise<void> {
    if (this.#state.is('open', 'opening')) {
      this.#state.move('closing');
      this.#closed = this.#close(deadline);
    }
    return this.#closed;
  }

  remove(): void {
    if (this.#state.is('parked')) this.#state.move('removed');
  }

  async #create(): Promise<void> {
    try {
      const deployed = await this.#deploy(this.#versions.first()?.codeVersion ?? '');
      if (!this.#state.is('opening')) throw applicationRemoved({ application: this.#name });
      const started = this.#getOrCreate(deployed);
      this.#started = started;
      started.then(
        (host) => this.#opened(host),
        () => this.#giveUp(),
      );
      if (!this.current) await started; // it could not be created: this is the reason
    } catch (error) {
      this.#giveUp();
      throw error;
    }
  }

  /** Workers that outlived an earlier job host of the same key belong to the new one. */
  #opened(host: JobHost): void {
    const { registry, jobHosts } = this.#parts;
    if (!this.#state.is('opening')) return;
    this.#state.move('open');
    for (const worker of registry.in('ready')) {
      if (worker.jobHostKey !== this.#key || [...host.routerOf(worker).workers()].includes(worker)) continue;
      void jobHosts.switchTo(worker.id, Promise.resolve(host)).then(() => {
        if (worker.is('ready') && this.current?.host === host) host.routerOf(worker).add(worker);
      });
    }
  }

  /** Joins the recovery of a job host whose listener broke. If that has failed, the job host is parked. */
  async #replaceFailed(): Promise<void> {
    try {
      this.#started = this.#getOrCreate(await this.#deploy(this.#versions.first()?.codeVersion ?? ''));
      await this.#started;
    } catch (error) {
      if (this.#state.is('open')) this.#release();
      throw error;
    }
  }

  #getOrCreate(deployed: DeployedVersion): Promise<JobHost> {
    const { jobHosts, recovery } = this.#parts;
    const index = deployed.hosted?.index;
    if (!index) throw applicationRemoved({ application: this.#name });
    return jobHosts.getOrCreate(this.#key, () => recovery.open(this.#key, deployed, index));
  }

  #giveUp(): void {
    if (this.#state.is('opening')) this.#release();
  }

  async #close(deadline: AbortSignal): Promise<void> {
    const { jobHosts, observe } = this.#parts;
    await this.#composing.catch(() => undefined);
    await this.#started?.catch(() => undefined);
    await jobHosts.stop(this.#key, deadline);
    observe({ kind: 'job-host.stopped', jobHost: this.#key });
    this.#release();
  }

  #release(): void {
    this.#parts.served.close(this.#key);
    this.#deployed.clear();
    this.#started = undefined;
    this.#composing = Promise.resolve();
    this.#state.move('parked');
    this.#versions.onParked();
  }

  #deploy(codeVersion: string): Promise<DeployedVersion> {
    const known = this.#deployed.get(codeVersion);
    if (known) return known;
    const created = this.#read(codeVersion);
    this.#deployed.set(codeVersion, created);
    created.catch(() => this.#deployed.delete(codeVersion));
    return created;
  }

  async #read(codeVersion: string): Promise<DeployedVersion> {
    const version = this.#versions.version(codeVersion);
    if (!version) throw applicationRemoved({ application: this.#name });
    const { application, environment } = await this.#parts.read(version);
    const { tenantId, applicationId } = version;
    return new DeployedVersion(
      { tenantId, applicationId, codeVersion, directory: application.directory, environment },
      {
        application,
        index: fromStoredIndex(version.index, application, this.#parts.supported),
        hooks: this.#versions.hooks(),
      },
    );
  }
}
