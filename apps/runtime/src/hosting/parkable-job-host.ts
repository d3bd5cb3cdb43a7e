import type { HostedVersion } from '@drover/scale-link';
import { deadlineAfter, type Randomness } from '@drover/service-kit';
import type { TriggerWatch, WatchedApplication, Webhook } from '@drover/trigger-sources';
import type { AdministeredHost } from '../admin/application-admin.js';
import type { FunctionDefinition } from '../applications/function-definition.js';
import type { Application } from '../applications/read-application.js';
import type { DeployedVersion, FunctionIndex, JobHostHooks } from '../deployments/deployed-version.js';
import { fromStoredIndex } from '../deployments/stored-index.js';
import { parkRefused } from '../errors.js';
import type { Invoker } from '../invocations/invocation-call.js';
import type { InvocationRouter } from '../invocations/invocation-router.js';
import type { JobHost } from '../job-hosts/job-host.js';
import type { HttpApplication } from '../routes/http-application.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import type { ScaleControl } from '../workers/scale-control.js';
import type { ApplicationMeter } from './application-meter.js';
import { JobHostActivation, type ActivationParts } from './job-host-activation.js';
import { ParkedCalls } from './parked-calls.js';

/** What the routes of an application are made of. Its files are not held afterwards. */
export interface FrontParts {
  readonly key: string;
  readonly application: Application;
  readonly index: FunctionIndex;
  readonly host: AdministeredHost;
  readonly invoker: Invoker;
  /** Opens the job host for a webhook that a source calls. */
  readonly webhook: (name: string) => Promise<Webhook | undefined>;
  /** Changes whenever a worker is added or removed. */
  readonly revision: () => number;
  readonly firstWorker: HttpApplication['firstWorker'];
}

/** The routes of an application and what its triggers wait for: all that stays of it while it is parked. */
export interface ApplicationFront {
  readonly http: HttpApplication;
  readonly functions: readonly FunctionDefinition[];
  readonly triggers: WatchedApplication['triggers'];
}

/** What hosted applications use of the runtime. */
export interface HostingParts extends ActivationParts {
  readonly composeFront: (parts: FrontParts) => ApplicationFront;
  readonly watch: Pick<TriggerWatch, 'watch'>;
  readonly scaleControl: Pick<ScaleControl, 'requestWorker'>;
  readonly randomness: Randomness;
  /** Calls that may wait for one job host to open. */
  readonly maxWaiting: number;
  /** Time limit for the drain of listeners. */
  readonly drainTimeoutMs: number;
}

interface OfApplication {
  /** `tenant/application`. */
  readonly name: string;
  readonly meter: ApplicationMeter;
  readonly parts: HostingParts;
}

/** While calls wait, a worker is requested again this often: a request may have been lost with its receiver. */
const requestAgainMs = 5_000;
/** Calls are refused for this long after the code of an application failed; then another worker tries. */
const failureMs = 10_000;
/** As for calls: a caller can do better with an error than with more waiting. */
const longestWaitMs = 120_000;

/**
 * One metadata version of a hosted application. Its routes exist whether its job host is open or not: a call opens it, and waits
 * in it for a worker. Its triggers are watched while it has no worker, also while the job host is open, because listeners without
 * a worker are paused.
 */
export class ParkableJobHost {
  readonly key: string;
  readonly #name: string;
  readonly #parts: HostingParts;
  readonly #meter: ApplicationMeter;
  readonly #activation: JobHostActivation;
  readonly #calls: ParkedCalls;
  readonly #front: ApplicationFront;
  /** By code version. */
  #versions: ReadonlyMap<string, HostedVersion> = new Map();
  /** Percent by code version, of all versions of the application. */
  #weights: ReadonlyMap<string, number> = new Map();
  /** The shares that the router of the open job host has. */
  #applied = '';
  #unwatch: (() => void) | undefined;
  #requestedMs: number | undefined;
  #failure: { readonly text: string; readonly atMs: number } | undefined;
  #isDrained = false;
  #onWorkers: () => void = () => undefined;

  private constructor(
    key: string,
    application: Application,
    index: FunctionIndex,
    { name, meter, parts }: OfApplication,
  ) {
    this.key = key;
    this.#name = name;
    this.#parts = parts;
    this.#meter = meter;
    this.#activation = new JobHostActivation(key, name, parts, {
      version: (codeVersion) => this.#versions.get(codeVersion),
      first: () => this.#heaviest(),
      hooks: () => this.#hooks(),
      onParked: () => this.#parked(),
    });
    const { clock, randomness, maxWaiting } = parts;
    const activation = this.#activation;
    const onWaiting = (): void => this.needWorker();
    this.#calls = new ParkedCalls({ maxWaiting, clock, randomness, activation, onWaiting });
    this.#front = parts.composeFront({
      key,
      application,
      index,
      host: this.#administered(index),
      invoker: this.#calls,
      webhook: (webhook) => this.#webhook(webhook),
      revision: () => this.#router?.revision ?? -1,
      firstWorker: () => (this.workers > 0 ? undefined : this.#firstWorker),
    });
  }

  /** Reads the files of a version. Throws RUNTIME_APPLICATION_BROKEN if they have errors. */
  static async create(key: string, version: HostedVersion, of: OfApplication): Promise<ParkableJobHost> {
    const { application } = await of.parts.read(version);
    return new ParkableJobHost(key, application, fromStoredIndex(version.index, application, of.parts.supported), of);
  }

  get http(): HttpApplication {
    return this.#front.http;
  }

  get isParked(): boolean {
    return this.#activation.state === 'parked';
  }

  /** The open job host; undefined while there is none. */
  get host(): JobHost | undefined {
    return this.#activation.current?.host;
  }

  /** Number of workers that take invocations. */
  get workers(): number {
    return this.#router?.size ?? 0;
  }

  /** Whether a code version has a worker that takes invocations. */
  serves(codeVersion: string): boolean {
    for (const served of this.#router?.versions ?? []) if (served === codeVersion) return true;
    return false;
  }

  /** Calls that wait for the job host to open, or for a worker. */
  get waiting(): number {
    return this.#calls.waiting + (this.#router?.waiting ?? 0);
  }

  /** A worker was requested, and none is ready. */
  get isUnserved(): boolean {
    return this.#requestedMs !== undefined && this.workers === 0;
  }

  /** Percent of the traffic of the application. */
  get weight(): number {
    let sum = 0;
    for (const codeVersion of this.#versions.keys()) sum += this.#weights.get(codeVersion) ?? 0;
    return sum;
  }

  get versions(): readonly HostedVersion[] {
    return [...this.#versions.values()];
  }

  /** Why workers end before one is ready; undefined if they do not, or it is time to try again. */
  get failure(): string | undefined {
    if (!this.#failure) return undefined;
    const { text, atMs } = this.#failure;
    return this.#parts.clock.monotonicMs() - atMs < failureMs ? text : undefined;
  }

  /** Calls back whenever a worker is added or removed. */
  onWorkers(callback: () => void): void {
    this.#onWorkers = callback;
  }

  /** Sets the versions that it serves, and the shares of all versions of the application. */
  assign(versions: readonly HostedVersion[], weights: ReadonlyMap<string, number>): void {
    const before = this.#versions;
    this.#versions = new Map(versions.map((version) => [version.codeVersion, version]));
    this.#weights = weights;
    // The next worker of a version gets its new settings; running ones keep theirs.
    for (const [codeVersion, version] of before)
      if (!isSame(version, this.#versions.get(codeVersion))) this.#activation.forget(codeVersion);
    if (this.#router) this.#applyTraffic(this.#router);
    this.#updateWatch();
  }

  /** Opens the job host and returns a version that it serves. */
  find(codeVersion: string): Promise<DeployedVersion | undefined> {
    return this.#activation.find(codeVersion);
  }

  /** Opens the job host. Resolves when its listeners have started. */
  start(): Promise<JobHost> {
    return this.#activation.start();
  }

  /** Requests a worker and opens the job host, because a trigger has work. */
  wake(): void {
    this.needWorker();
    this.#activation
      .open()
      .catch((error: unknown) => this.#parts.observe({ kind: 'hosting.open-failed', jobHost: this.key, error }));
  }

  /** Requests a worker, unless one was requested just now. Called for every call that finds none free. */
  needWorker(): void {
    const { clock, scaleControl } = this.#parts;
    const nowMs = clock.monotonicMs();
    if (this.#requestedMs !== undefined && nowMs - this.#requestedMs < requestAgainMs) return;
    this.#requestedMs = nowMs;
    const isAtZero = this.workers === 0;
    const version = this.#heaviest();
    scaleControl.requestWorker({
      applicationKey: version && `${this.#name}:${version.codeVersion}`,
      priority: isAtZero ? 'urgent' : 'normal',
      reason: isAtZero ? 'wake' : 'saturated',
      replaces: undefined,
    });
  }

  /** Requests a worker again, because the receiver of the first request has changed. */
  requestAgain(): void {
    this.#requestedMs = undefined;
    this.needWorker();
  }

  recordReady(): void {
    this.#failure = undefined;
  }

  recordFailure(text: string): void {
    this.#failure = { text, atMs: this.#parts.clock.monotonicMs() };
  }

  /** Closes the job host. Throws RUNTIME_PARK_REFUSED while it has workers, calls or a request for a worker. */
  async park(): Promise<void> {
    const { registry, clock, drainTimeoutMs } = this.#parts;
    const isBusy = this.versions.some(
      ({ codeVersion }) => registry.activeOf(`${this.#name}:${codeVersion}`).length > 0,
    );
    const reason = isBusy ? 'it has function workers' : this.#calls.running > 0 ? 'it has calls' : undefined;
    if (reason !== undefined || this.isUnserved)
      throw parkRefused({ application: this.#name, reason: reason ?? 'a function worker was requested' });
    const deadline = deadlineAfter(clock, drainTimeoutMs);
    await this.close(deadline.signal);
    deadline.cancel();
  }

  /** Lets the calls that are inside finish, then closes. Its versions have no traffic any more. */
  async retire(deadline: AbortSignal): Promise<void> {
    await this.host?.drain(deadline);
    await this.#calls.idle(deadline);
    await this.close(deadline);
  }

  /** Drains and closes the job host. The watch begins first, so that no event is missed in between. */
  async close(deadline: AbortSignal): Promise<void> {
    const closed = this.#activation.close(deadline);
    this.#updateWatch();
    await closed;
  }

  /** Stops its listeners and the watch of its triggers, because the runtime stops. */
  async drain(deadline: AbortSignal): Promise<void> {
    this.#isDrained = true;
    this.#updateWatch();
    await this.host?.drain(deadline);
  }

  /** Ends the watch of triggers. Call it after `close`. */
  remove(): void {
    this.#activation.remove();
    this.#unwatch?.();
    this.#unwatch = undefined;
  }

  get #router(): InvocationRouter<FunctionWorker> | undefined {
    return this.host?.router;
  }

  #parked(): void {
    this.#applied = '';
    this.#updateWatch();
    // A call or an event that came during the close has requested a worker: its job host must be there.
    if (this.isUnserved && this.weight > 0) this.wake();
  }

  #hooks(): JobHostHooks {
    return {
      http: this.#front.http,
      meter: this.#meter,
      onWaiting: () => this.needWorker(),
      failure: () => this.failure,
      onWorkers: (router) => {
        this.#applyTraffic(router);
        if (router.size > 0) this.#requestedMs = undefined;
        this.#updateWatch();
        this.#onWorkers();
      },
    };
  }

  /** A version gets its share once it has a worker; until then, those that have one take its calls. */
  #applyTraffic(router: InvocationRouter<FunctionWorker>): void {
    const shares = [...router.versions].flatMap((codeVersion) => {
      const weight = this.#weights.get(codeVersion) ?? 0;
      return weight > 0 ? [[codeVersion, weight] as const] : [];
    });
    const applied = JSON.stringify(shares);
    if (applied === this.#applied) return;
    this.#applied = applied;
    router.setTraffic(new Map(shares));
  }

  #updateWatch(): void {
    const isWatched = this.workers === 0 && this.weight > 0 && !this.#isDrained && this.#activation.state !== 'removed';
    if (!isWatched) {
      this.#unwatch?.();
      this.#unwatch = undefined;
    } else if (this.#front.triggers.length > 0) {
      const { triggers } = this.#front;
      this.#unwatch ??= this.#parts.watch.watch({ application: this.#name, triggers }, () => this.wake());
    }
  }

  readonly #firstWorker = async (signal: AbortSignal): Promise<void> => {
    this.needWorker();
    try {
      const { host } = await this.#activation.open();
      const reservation = await host.router.wait({ signal, dueMs: this.#parts.clock.monotonicMs() + longestWaitMs });
      reservation?.release();
    } catch {
      // The call that waits fails by itself, with the reason.
    }
  };

  async #webhook(name: string): Promise<Webhook | undefined> {
    if (this.workers === 0) this.needWorker();
    const { webhooks } = await this.#activation.open();
    return webhooks.get(name);
  }

  #heaviest(): HostedVersion | undefined {
    const weightOf = ({ codeVersion }: HostedVersion): number => this.#weights.get(codeVersion) ?? 0;
    const [first] = this.versions.toSorted((one, other) => weightOf(other) - weightOf(one));
    return first;
  }

  #administered({ functions }: FunctionIndex): AdministeredHost {
    const current = (): JobHost | undefined => this.host;
    return {
      key: this.key,
      functions: new Map(functions.map((definition) => [definition.name.toLowerCase(), definition])),
      get state() {
        return current()?.state ?? 'running';
      },
      pause: (reason) => {
        this.#isDrained ||= reason === 'drain';
        current()?.pause(reason);
        this.#updateWatch();
      },
    };
  }
}

function isSame({ directory, settings }: HostedVersion, other: HostedVersion | undefined): boolean {
  return directory === other?.directory && JSON.stringify(settings) === JSON.stringify(other.settings);
}
