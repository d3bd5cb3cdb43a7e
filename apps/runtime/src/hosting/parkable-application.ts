import type { HostedApplication, HostedVersion } from '@drover/scale-link';
import { deadlineAfter } from '@drover/service-kit';
import { jobHostKey } from '../applications/application-key.js';
import type { DeployedVersion } from '../deployments/deployed-version.js';
import { TrafficSplit } from '../invocations/traffic-split.js';
import type { JobHost } from '../job-hosts/job-host.js';
import type { HttpApplication } from '../routes/http-application.js';
import { ApplicationMeter } from './application-meter.js';
import { ParkableJobHost, type HostingParts } from './parkable-job-host.js';

/**
 * An application that the scale controller gave to this runtime: its versions, their traffic, and a job host, open or parked, for
 * each metadata version. Calls go to job hosts with a share that have a worker. If none of them has one yet, those that are being
 * replaced take the calls while they have workers; without any worker, the call wakes one with a share.
 */
export class ParkableApplication {
  readonly name: string;
  readonly meter = new ApplicationMeter();
  readonly #parts: HostingParts;
  /** By job host key. */
  readonly #hosts = new Map<string, ParkableJobHost>();
  readonly #split = new TrafficSplit();
  readonly #retiring = new Set<ParkableJobHost>();
  readonly #onServing: () => void;
  #routes: readonly HttpApplication[] = [];
  #generation = 0;
  #weights: ReadonlyMap<string, number> = new Map();

  /** Calls `onServing` when `waitsFor` may have changed. */
  constructor(name: string, parts: HostingParts, onServing: () => void) {
    this.name = name;
    this.#parts = parts;
    this.#onServing = onServing;
  }

  get generation(): number {
    return this.#generation;
  }

  get hosts(): Iterable<ParkableJobHost> {
    return this.#hosts.values();
  }

  /** The routes of all its versions. */
  get routes(): readonly HttpApplication[] {
    return this.#routes;
  }

  get isParked(): boolean {
    return this.#all().every(({ isParked }) => isParked);
  }

  /** Returns why no call is served; undefined if one can be. */
  get failure(): string | undefined {
    const failing = this.#all().find(({ weight, failure }) => weight > 0 && failure !== undefined);
    return this.#all().some(({ workers }) => workers > 0) ? undefined : failing?.failure;
  }

  /**
   * Returns what is missing until calls are divided as the traffic says; undefined if they are. An application without workers lacks
   * nothing: its next call waits for a worker of a version with a share.
   */
  get waitsFor(): string | undefined {
    const hosts = this.#all();
    if (!hosts.some(({ workers }) => workers > 0)) return undefined;
    for (const [codeVersion, percent] of this.#weights) {
      const host = percent > 0 ? this.hostOf(codeVersion) : undefined;
      if (!host || host.serves(codeVersion)) continue;
      const { failure } = host;
      return `a function worker of version ${codeVersion}${failure === undefined ? '' : `, which fails: ${failure}`}`;
    }
    return undefined;
  }

  /**
   * Serves this state of the application from now on. Throws RUNTIME_APPLICATION_BROKEN, and changes nothing, if the files of a new
   * version have errors. Versions that are gone drain.
   */
  async apply({ generation, versions, traffic }: HostedApplication): Promise<void> {
    const byHost = groupByHost(versions);
    const created = new Map<string, ParkableJobHost>();
    for (const [key, [version]] of byHost) {
      if (this.#hosts.has(key) || !version) continue;
      created.set(
        key,
        await ParkableJobHost.create(key, version, { name: this.name, meter: this.meter, parts: this.#parts }),
      );
    }
    if (generation < this.#generation) return; // a newer state arrived while the files were read
    this.#generation = generation;
    this.#weights = new Map(Object.entries(traffic));
    for (const [key, host] of created) {
      if (this.#hosts.has(key)) continue;
      host.onWorkers(() => this.#settle());
      this.#hosts.set(key, host);
    }
    for (const [key, host] of this.#hosts) host.assign(byHost.get(key) ?? [], this.#weights);
    this.#split.set(new Map([...this.#hosts].map(([key, host]) => [key, host.weight])));
    this.#routes = this.#all().map(({ http }) => http);
    this.#settle();
  }

  /** Returns the routes for a request: `matches` says whether routes have one for it. On the path of every request. */
  choose(matches: (http: HttpApplication) => boolean): HttpApplication | undefined {
    if (this.#hosts.size === 1) {
      for (const { http } of this.#hosts.values()) return matches(http) ? http : undefined;
    }
    const candidates = this.#serving().filter(({ http }) => matches(http));
    if (candidates.length <= 1) return candidates[0]?.http;
    const order = this.#split.order(candidates.map(({ key }) => key));
    const [chosen = candidates[0]?.key ?? ''] = order;
    this.#split.record(chosen, order);
    return this.#hosts.get(chosen)?.http;
  }

  /** Returns the routes of the version with the largest share. */
  primary(): HttpApplication | undefined {
    const [first] = this.#serving().toSorted((one, other) => other.weight - one.weight);
    return first?.http;
  }

  /** Opens the job host of a code version; undefined if it is not hosted. Without a code version, of the one with the largest share. */
  async find(codeVersion: string | undefined): Promise<DeployedVersion | undefined> {
    const code = codeVersion ?? [...this.#weights].toSorted(([, one], [, other]) => other - one)[0]?.[0];
    return code === undefined ? undefined : this.hostOf(code)?.find(code);
  }

  /** Opens the job host of a key. Resolves when its listeners have started. */
  start(key: string): Promise<JobHost> | undefined {
    return this.#hosts.get(key)?.start();
  }

  hostOf(codeVersion: string): ParkableJobHost | undefined {
    return this.#all().find(({ versions }) => versions.some((version) => version.codeVersion === codeVersion));
  }

  /** Closes all job hosts. Throws RUNTIME_PARK_REFUSED while one has workers, calls or a request for a worker. */
  async park(): Promise<void> {
    for (const host of this.#all()) await host.park();
  }

  /** Drains and closes all job hosts, and ends the watch of triggers. */
  async remove(deadline: AbortSignal): Promise<void> {
    await Promise.all(
      this.#all().map(async (host) => {
        host.assign([], new Map());
        await host.retire(deadline);
        host.remove();
      }),
    );
    this.#hosts.clear();
  }

  #all(): ParkableJobHost[] {
    return [...this.#hosts.values()];
  }

  /** The job hosts that take calls now. */
  #serving(): readonly ParkableJobHost[] {
    const wanted = this.#all().filter(({ weight }) => weight > 0);
    const ready = wanted.filter(({ workers }) => workers > 0);
    if (ready.length > 0) return ready;
    const replaced = this.#all().filter(({ workers }) => workers > 0);
    return replaced.length > 0 ? replaced : wanted;
  }

  /** Closes job hosts without a share, once another one has a worker, and forgets those without a version. */
  #settle(): void {
    this.#onServing();
    const isReplaced = this.#all().some(({ weight, workers }) => weight > 0 && workers > 0);
    for (const host of this.#all()) {
      if (host.weight > 0) continue;
      if (!host.isParked) {
        if (isReplaced || host.workers === 0) void this.#retire(host);
      } else if (host.versions.length === 0) {
        host.remove();
        this.#hosts.delete(host.key);
        this.#routes = this.#all().map(({ http }) => http);
      }
    }
  }

  async #retire(host: ParkableJobHost): Promise<void> {
    if (this.#retiring.has(host)) return;
    this.#retiring.add(host);
    const deadline = deadlineAfter(this.#parts.clock, this.#parts.drainTimeoutMs);
    await host.retire(deadline.signal);
    deadline.cancel();
    this.#retiring.delete(host);
    this.#settle();
  }
}

function groupByHost(versions: readonly HostedVersion[]): ReadonlyMap<string, readonly HostedVersion[]> {
  const groups = new Map<string, HostedVersion[]>();
  for (const version of versions) {
    const { tenantId, applicationId, index } = version;
    const key = jobHostKey({ tenantId, applicationId, metadataVersion: index.metadataVersion });
    groups.set(key, [...(groups.get(key) ?? []), version]);
  }
  return groups;
}
