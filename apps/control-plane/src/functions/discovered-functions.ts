import { applicationChanged, runtimeCalls, type RuntimeListing, type TenantId } from '@drover/contracts';
import type { BarrierParticipant } from '@drover/event-bus';
import { headerLine, isHeaderValue } from '@drover/http-edge';
import {
  BackOff,
  WakeUp,
  type BackOffPolicy,
  type Clock,
  type Lifecycle,
  type Observe,
  type PartHealth,
  type Randomness,
} from '@drover/service-kit';
import type { FunctionDefinition, RuntimeConnection } from '@drover/dispatchers';
import {
  discoveredDefinitions,
  type DiscoveredFunctionDefaults,
  type DiscoveredNames,
} from './discovered-definitions.js';
import type { DiscoveredFunctionsObservation } from './discovered-observations.js';
import { untilRuntimeServes } from './until-runtime-serves.js';

export interface DiscoveredFunctionsOptions {
  readonly connection: RuntimeConnection;
  readonly defaults: DiscoveredFunctionDefaults;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<DiscoveredFunctionsObservation>;
  /** Between two polls while the runtime answers. */
  readonly everyMs?: number;
  /** How long the last listing stays valid while the runtime is away. */
  readonly keepMs?: number;
  /** Whether this process drains: the runtime may stop beside it, and earlier. */
  readonly isEnding: () => boolean;
}

type Listener = (tenantId: TenantId, name: string, now: FunctionDefinition | undefined) => void;

/** Shorter than a restart of the runtime takes, so that `/readyz` does not miss one. An unchanged listing costs 0.1 ms. */
const defaultEveryMs = 500;
/** Longer than a runtime needs to restart on a slow machine with large applications. */
const defaultKeepMs = 300_000;
/** Both processes start together: polls quickly, so that calls right after the start do not wait long. */
const pollBackOff: BackOffPolicy = { firstMs: 40, maxMs: 250, factor: 1.5 };
const pollTimeoutMs = 5_000;
/** A runtime that is away for less time restarts, or stops together with this process. */
const unavailableAfterMs = 2_000;

/**
 * Discovers the functions of deployed applications by polling the runtime's listing. Unchanged listings are answered with 304.
 * While the runtime is away, the last listing stays valid for `keepMs`.
 */
export class DiscoveredFunctions implements Lifecycle {
  readonly name = 'discovered functions';
  readonly #options: DiscoveredFunctionsOptions;
  readonly #stopping = new AbortController();
  readonly #listeners: Listener[] = [];
  /** Calls that wait for the first answer. */
  readonly #waiting = new Set<() => void>();
  #tenants: ReadonlyMap<string, DiscoveredNames> = new Map();
  #tag: string | undefined;
  #listedMs: number | undefined;
  #isUnavailable = false;
  #failingSinceMs: number | undefined;
  /** Set while the latest poll failed, or before the first one. */
  #failure: string | undefined = notListedYet;
  #serving: PartHealth = { isReady: true, problems: {} };
  #polling: Promise<void> | undefined;
  readonly #wakeUp = new WakeUp();
  /** Callers of `refresh` that the next poll settles. */
  #refreshing: (() => void)[] = [];

  constructor(options: DiscoveredFunctionsOptions) {
    this.#options = options;
  }

  /** Whether a listing has arrived; also true if no runtime is configured. */
  get isKnown(): boolean {
    return this.#listedMs !== undefined || !this.#options.connection.isConfigured;
  }

  /** Returns what is known of the runtime: it serves calls if it answers and one of its applications does. */
  health(): PartHealth {
    if (!this.#options.connection.isConfigured) return this.#serving;
    return this.#failure === undefined ? this.#serving : { isReady: false, problems: { runtime: this.#failure } };
  }

  /** Does not wait for the runtime: neither process needs the other to start. */
  async start(): Promise<void> {
    if (this.#options.connection.isConfigured) this.#polling = this.#pollUntilStopped();
  }

  async drain(): Promise<void> {}

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#resolveWaiters();
    await this.#polling;
  }

  find(tenantId: TenantId, name: string): FunctionDefinition | undefined {
    return this.#tenants.get(tenantId)?.byName.get(name);
  }

  list(tenantId: TenantId): readonly FunctionDefinition[] {
    return this.#tenants.get(tenantId)?.listed ?? [];
  }

  /** Calls `listener` with the new definition, or undefined for a removed function, on every change. */
  onChange(listener: Listener): void {
    this.#listeners.push(listener);
  }

  /** Resolves when the first listing has arrived, or after `ms`: for calls right after the start. */
  async waitForFirst(ms: number): Promise<void> {
    if (this.isKnown || this.#stopping.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        cancel();
        this.#waiting.delete(end);
        resolve();
      };
      const cancel = this.#options.clock.after(ms, end);
      this.#waiting.add(end);
    });
  }

  /** Polls now. Resolves when a poll that began after the call has ended, also if it failed. */
  refresh(): Promise<void> {
    if (!this.#polling || this.#stopping.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#refreshing.push(resolve);
      this.#wakeUp.notify();
    });
  }

  /**
   * Takes part in barriers: a deployment holds here once the runtime serves calls as it says, and its functions are known. Resolves with
   * what is missing once `signal` has aborted.
   */
  readonly untilServed: BarrierParticipant = async (about, signal) => {
    if (about?.topic !== applicationChanged.name || !this.#options.connection.isConfigured) return undefined;
    const waitsFor = await untilRuntimeServes(this.#options, about, signal);
    if (waitsFor === undefined) await this.refresh();
    return waitsFor;
  };

  #resolveWaiters(): void {
    for (const end of this.#waiting) end();
  }

  async #pollUntilStopped(): Promise<void> {
    const { clock, everyMs = defaultEveryMs } = this.#options;
    const { signal } = this.#stopping;
    const backOff = new BackOff(pollBackOff, this.#options);
    while (!signal.aborted) {
      this.#wakeUp.reset();
      const refreshing = this.#refreshing;
      this.#refreshing = [];
      const reason = await this.#poll(signal).catch(explain);
      for (const resolve of refreshing) resolve();
      if (signal.aborted) break;
      if (reason === undefined) backOff.reset();
      else this.#recordFailure(reason);
      await this.#wakeUp.wait(clock, reason === undefined ? everyMs : backOff.nextMs(), signal);
    }
    for (const resolve of this.#refreshing) resolve();
  }

  /** Polls once. Returns the reason for a failure, or undefined. */
  async #poll(stopping: AbortSignal): Promise<string | undefined> {
    const { connection, clock, defaults, observe } = this.#options;
    const endpoint = connection.endpoint();
    if (!endpoint) return urlUnknown;
    const condition = this.#tag === undefined ? '' : headerLine('if-none-match', this.#tag);
    const { status, headers, body } = await endpoint
      .get(runtimeCalls.applicationsPath, condition, { timeoutMs: pollTimeoutMs, signal: stopping })
      .catch((error: unknown) => {
        connection.doubt();
        throw error;
      });
    if (status !== 200 && status !== 304) return `it answered ${status}`;
    if (status === 200) {
      const listing = parseListing(body?.toString('utf8') ?? '');
      if (!listing) return 'its answer cannot be read';
      this.#tag = tagIn(headers);
      this.#replace(discoveredDefinitions(listing, defaults, this.#tenants));
      this.#serving = servingOf(listing);
      observe({ kind: 'discovered-functions.listed', count: this.#count() });
    }
    this.#listedMs = clock.monotonicMs();
    this.#isUnavailable = false;
    this.#failingSinceMs = undefined;
    this.#failure = undefined;
    this.#resolveWaiters();
    return undefined;
  }

  #recordFailure(reason: string): void {
    const { clock, observe, isEnding, keepMs = defaultKeepMs } = this.#options;
    if (reason !== urlUnknown) this.#failure = `the runtime does not answer: ${reason}`;
    const nowMs = clock.monotonicMs();
    this.#failingSinceMs ??= nowMs;
    const isLong = nowMs - this.#failingSinceMs >= unavailableAfterMs;
    // Reported once per outage; a missing URL is normal during every start.
    if (isLong && !this.#isUnavailable && !isEnding() && reason !== urlUnknown) {
      this.#isUnavailable = true;
      observe({ kind: 'discovered-functions.unavailable', reason });
    }
    if (this.#listedMs === undefined || nowMs - this.#listedMs < keepMs || this.#tenants.size === 0) return;
    observe({ kind: 'discovered-functions.forgotten', count: this.#count() });
    this.#tag = undefined;
    this.#replace(new Map());
  }

  #replace(now: ReadonlyMap<string, DiscoveredNames>): void {
    const before = this.#tenants;
    this.#tenants = now;
    for (const tenantId of new Set([...before.keys(), ...now.keys()]) as Set<TenantId>) {
      const [old, current] = [before.get(tenantId)?.byName, now.get(tenantId)?.byName];
      for (const [name, definition] of current ?? [])
        if (old?.get(name) !== definition) this.#notify(tenantId, name, definition);
      for (const name of old?.keys() ?? []) if (!current?.has(name)) this.#notify(tenantId, name, undefined);
    }
  }

  #notify(tenantId: TenantId, name: string, now: FunctionDefinition | undefined): void {
    for (const listener of this.#listeners) listener(tenantId, name, now);
  }

  #count(): number {
    return [...this.#tenants.values()].reduce((sum, { listed }) => sum + listed.length, 0);
  }
}

/** The entity tag among headers, names and values in turn. */
function tagIn(headers: readonly string[]): string | undefined {
  const place = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'etag');
  const tag = place === -1 ? undefined : headers[place + 1];
  return tag !== undefined && isHeaderValue(tag) ? tag : undefined;
}

const urlUnknown = 'its URL is not known yet';
const notListedYet = 'the runtime has not started yet';

/** An application whose workers are all gone is listed and has a problem. */
function servingOf({ applications, problems = [] }: RuntimeListing): PartHealth {
  const broken = new Set(problems.map(({ application }) => application));
  const isServed = ({ name }: { readonly name: string }): boolean => !broken.has(name.slice(name.indexOf('/') + 1));
  return {
    isReady: problems.length === 0 || applications.some(isServed),
    problems: Object.fromEntries(problems.map(({ application, problem }) => [`application ${application}`, problem])),
  };
}

function explain(error: unknown): string {
  return error instanceof Error ? ('code' in error ? String(error.code) : error.message) : String(error);
}

/** Checks the shape: the configured URL may point at something else than a runtime. */
function parseListing(text: string): RuntimeListing | undefined {
  try {
    const listing = JSON.parse(text) as RuntimeListing;
    const isGood = listing.applications.every(
      ({ name, functions }) =>
        typeof name === 'string' &&
        functions.every((one) => typeof one.name === 'string' && typeof one.trigger === 'string'),
    );
    const hasGoodProblems = (listing.problems ?? []).every(
      ({ application, problem }) => typeof application === 'string' && typeof problem === 'string',
    );
    return isGood && hasGoodProblems ? listing : undefined;
  } catch {
    return undefined;
  }
}
