import type { ApplicationSample, HostedApplication } from '@drover/scale-link';
import { deadlineAfter, type Lifecycle } from '@drover/service-kit';
import { applicationNameOf } from '../applications/application-key.js';
import type { DeployedVersion, FunctionIndex } from '../deployments/deployed-version.js';
import { applicationRemoved } from '../errors.js';
import type { JobHost } from '../job-hosts/job-host.js';
import type { HttpApplication, RequestLine, ServedState } from '../routes/http-application.js';
import { RouteResolver } from '../routes/route-resolver.js';
import type { SpecializableApplications } from '../specialization/specializer.js';
import type { WorkerLifecycle } from '../worker-lifecycle/worker-lifecycle.js';
import { FirstHosting } from './first-hosting.js';
import { ParkableApplication } from './parkable-application.js';
import type { HostingParts } from './parkable-job-host.js';
import { ApplicationSampler, type SamplerOptions } from './application-sampler.js';

interface HostedApplicationsOptions extends HostingParts, SamplerOptions {
  readonly lifecycle: Pick<WorkerLifecycle, 'retire'>;
  /** Whether a scale controller tells what to host. */
  readonly isTold: boolean;
}

/**
 * The applications that the scale controller gave to this runtime, running or parked. Workers are specialized with them, and the
 * HTTP server resolves requests with them.
 */
export class HostedApplications implements Lifecycle, SpecializableApplications {
  readonly name = 'hosted applications';
  readonly #options: HostedApplicationsOptions;
  readonly #sampler: ApplicationSampler;
  readonly #first: FirstHosting;
  /** By `tenant/application`. */
  readonly #applications = new Map<string, ParkableApplication>();
  readonly #resolver = new RouteResolver(() => this.#applications.values());
  /** Callers of `untilServed`, which look again at every change. */
  readonly #watching = new Set<() => void>();

  constructor(options: HostedApplicationsOptions) {
    this.#options = options;
    this.#sampler = new ApplicationSampler(options);
    this.#first = new FirstHosting(options.clock, options.isTold);
  }

  async start(): Promise<void> {}

  async drain(deadline: AbortSignal): Promise<void> {
    const hosts = [...this.#applications.values()].flatMap((application) => [...application.hosts]);
    await Promise.all(hosts.map((host) => host.drain(deadline)));
  }

  async stop(): Promise<void> {
    this.#first.stop();
    const now = AbortSignal.abort();
    await Promise.all([...this.#applications.values()].map((application) => application.remove(now)));
    this.#applications.clear();
  }

  /** Generations by `tenant/application`, for the attach message. */
  generations(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#applications].map(([name, { generation }]) => [name, generation]));
  }

  /**
   * Hosts an application, or changes one; ignores a state that is older than the one it has. Throws RUNTIME_APPLICATION_BROKEN if
   * the files of a version have errors.
   */
  async host(application: HostedApplication): Promise<void> {
    this.#first.began();
    try {
      await this.#host(application);
    } finally {
      this.#first.ended();
    }
  }

  async #host(application: HostedApplication): Promise<void> {
    const name = `${application.tenantId}/${application.applicationId}`;
    const known = this.#applications.get(name);
    if (known && known.generation > application.generation) return;
    const hosted = known ?? new ParkableApplication(name, this.#options, () => this.#changed());
    await hosted.apply(application);
    if (!known && this.#applications.has(name)) return await this.#host(application); // hosted meanwhile
    this.#applications.set(name, hosted);
    this.#resolver.clear();
    this.#changed();
    this.#options.observe({ kind: 'hosting.hosted', application: name, generation: hosted.generation });
  }

  /** Drains an application with its workers and removes it. New calls do not find it any more. */
  async remove(name: string, drainMs: number): Promise<void> {
    const { clock, registry, lifecycle, observe } = this.#options;
    const application = this.#applications.get(name);
    if (!application) return;
    this.#applications.delete(name);
    this.#resolver.clear();
    this.#changed();
    const deadline = deadlineAfter(clock, drainMs);
    await application.remove(deadline.signal);
    const workers = registry.all().filter(({ applicationKey = '' }) => applicationNameOf(applicationKey) === name);
    await Promise.all(workers.map((worker) => lifecycle.retire(worker, deadline.signal)));
    deadline.cancel();
    observe({ kind: 'hosting.removed', application: name });
  }

  /** Closes the job hosts of an application. Throws RUNTIME_PARK_REFUSED while it has workers, calls or a request for a worker. */
  async park(name: string): Promise<void> {
    await this.#applications.get(name)?.park();
  }

  /** The scale controller has told all that this runtime hosts. */
  synced(): void {
    this.#first.stop();
  }

  /** Returns a promise until this runtime knows what it hosts; undefined once it does. */
  untilKnown(): Promise<void> | undefined {
    return this.#first.untilKnown();
  }

  /** Call it when a scale controller hears this runtime: it does not know of the calls that wait for a worker. */
  requestAgain(): void {
    this.#first.attached();
    for (const { hosts } of this.#applications.values())
      for (const host of hosts) if (host.isUnserved) host.requestAgain();
  }

  /**
   * Resolves when calls are served as a generation of an application says, or those of a removed one are refused. Resolves with what is
   * missing once `signal` has aborted.
   */
  untilServed({ name, generation, removed }: ServedState, signal: AbortSignal): Promise<string | undefined> {
    const missing = (): string | undefined => {
      const application = this.#applications.get(name);
      if (removed) return application ? 'the removal from the runtime' : undefined;
      if (!application || application.generation < generation) return 'the runtime, which does not have the change yet';
      return application.waitsFor;
    };
    return new Promise((resolve) => {
      const look = (): void => {
        const waitsFor = missing();
        if (waitsFor !== undefined && !signal.aborted) return;
        this.#watching.delete(look);
        signal.removeEventListener('abort', look);
        resolve(waitsFor);
      };
      this.#watching.add(look);
      signal.addEventListener('abort', look);
      look();
    });
  }

  #changed(): void {
    for (const look of this.#watching) look();
  }

  /** Records why a worker ended before it was ready. */
  recordFailure(versionKey: string, text: string): void {
    this.#hostOf(versionKey)?.recordFailure(text);
  }

  /** Measures all applications that are not at rest. Call it once a second. */
  sample(signal: AbortSignal): Promise<readonly ApplicationSample[]> {
    return this.#sampler.sample(this.#applications.values(), signal);
  }

  find(versionKey: string): Promise<DeployedVersion | undefined> | undefined {
    const [name = '', codeVersion] = versionKey.split(':');
    return this.#applications.get(name)?.find(codeVersion);
  }

  /** The functions of a hosted version were indexed when it was deployed. */
  readIndex(_worker: unknown, { key, hosted }: DeployedVersion): Promise<FunctionIndex> {
    return hosted ? Promise.resolve(hosted.index) : Promise.reject(applicationRemoved({ application: key }));
  }

  async openJobHost({ key, jobHostKey = '' }: DeployedVersion): Promise<JobHost> {
    const started = this.#applications.get(applicationNameOf(key))?.start(jobHostKey);
    if (!started) throw applicationRemoved({ application: applicationNameOf(key) });
    return await started;
  }

  /** A version was checked when it was deployed. */
  lostBy(): readonly string[] {
    return [];
  }

  recordReady(versionKey: string): void {
    this.#hostOf(versionKey)?.recordReady();
  }

  recordBroken(versionKey: string, error: unknown): void {
    this.recordFailure(versionKey, error instanceof Error ? error.message : String(error));
  }

  get isEmpty(): boolean {
    return this.#applications.size === 0;
  }

  /** The routes of the only version of the only application; undefined if there are more. */
  get only(): HttpApplication | undefined {
    if (this.#applications.size !== 1) return undefined;
    for (const { routes } of this.#applications.values()) if (routes.length === 1) return routes[0];
    return undefined;
  }

  /** Returns the routes that have one for a request; undefined if none has. */
  match(request: RequestLine): HttpApplication | undefined {
    return this.#resolver.resolve(request);
  }

  named(name: string, functionName: string): HttpApplication | undefined {
    const application = this.#applications.get(name);
    const function_ = functionName.toLowerCase();
    return application?.choose(({ callable }) => callable.has(function_)) ?? application?.primary();
  }

  all(): readonly HttpApplication[] {
    return [...this.#applications.values()].flatMap((application) => application.primary() ?? []);
  }

  problems(): readonly { readonly application: string; readonly problem: string }[] {
    return [...this.#applications.values()].flatMap(({ name, failure }) =>
      failure === undefined ? [] : [{ application: name.slice(name.indexOf('/') + 1), problem: failure }],
    );
  }

  #hostOf(versionKey: string): ReturnType<ParkableApplication['hostOf']> {
    const [name = '', codeVersion = ''] = versionKey.split(':');
    return this.#applications.get(name)?.hostOf(codeVersion);
  }
}
