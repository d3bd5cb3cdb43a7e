import { runtimeCalls, type RuntimeListing, type TenantId } from '@drover/contracts';
import {
  BackOff,
  sleep,
  type BackOffPolicy,
  type Clock,
  type Lifecycle,
  type Observe,
  type Randomness,
} from '@drover/service-kit';
import type { FunctionDefinition, RuntimeConnection } from '@drover/dispatchers';
import { foundDefinitions, type FoundFunctionDefaults, type FoundNames } from './found-definitions.js';
import type { FoundFunctionsObservation } from './found-observations.js';

export interface FoundFunctionsOptions {
  readonly connection: RuntimeConnection;
  readonly defaults: FoundFunctionDefaults;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<FoundFunctionsObservation>;
  /** Between two questions while all is well. */
  readonly everyMs?: number;
  /** How long the last answer counts while there is no other. */
  readonly keepMs?: number;
}

type Listener = (tenantId: TenantId, name: string, now: FunctionDefinition | undefined) => void;

const shippedEveryMs = 2_000;
/** Longer than a runtime needs to be started again, on a slow machine and with large applications. */
const shippedKeepMs = 300_000;
/** Both processes start together: whoever calls right then should not have to wait for long. */
const impatient: BackOffPolicy = { firstMs: 40, maxMs: 1_000, factor: 1.5 };
const askWithinMs = 5_000;

/**
 * The functions of deployed applications, as the runtime lists them. It is asked again and again, at little cost: as long as
 * nothing changed it says no more than that. While it is away, what it said last still counts, for a while.
 */
export class FoundFunctions implements Lifecycle {
  readonly name = 'found functions';
  readonly #options: FoundFunctionsOptions;
  readonly #stopping = new AbortController();
  readonly #listeners: Listener[] = [];
  /** Calls that wait for the first answer. */
  readonly #waiting = new Set<() => void>();
  #tenants: ReadonlyMap<string, FoundNames> = new Map();
  #tag: string | undefined;
  #heardMs: number | undefined;
  #isUnavailable = false;
  #asking: Promise<void> | undefined;

  constructor(options: FoundFunctionsOptions) {
    this.#options = options;
  }

  /** Whether the runtime has said at all what it serves; true where there is none. */
  get isKnown(): boolean {
    return this.#heardMs !== undefined || !this.#options.connection.isConfigured;
  }

  /** Does not wait for the runtime: neither needs the other to start. */
  async start(): Promise<void> {
    if (this.#options.connection.isConfigured) this.#asking = this.#askOn();
  }

  async drain(): Promise<void> {}

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#waitNoMore();
    await this.#asking;
  }

  find(tenantId: TenantId, name: string): FunctionDefinition | undefined {
    return this.#tenants.get(tenantId)?.byName.get(name);
  }

  list(tenantId: TenantId): readonly FunctionDefinition[] {
    return this.#tenants.get(tenantId)?.listed ?? [];
  }

  /** Called with the new definition (undefined: gone) whenever one changed. */
  onChange(listener: Listener): void {
    this.#listeners.push(listener);
  }

  /** Resolves once the runtime has said what it serves, or after `ms`: for calls that come right after the start. */
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

  #waitNoMore(): void {
    for (const end of this.#waiting) end();
  }

  async #askOn(): Promise<void> {
    const { clock, everyMs = shippedEveryMs } = this.#options;
    const { signal } = this.#stopping;
    const backOff = new BackOff(impatient, this.#options);
    while (!signal.aborted) {
      const reason = await this.#ask(signal).catch(explain);
      if (signal.aborted) return;
      if (reason === undefined) backOff.reset();
      else this.#noteFailure(reason);
      await sleep(clock, reason === undefined ? everyMs : backOff.nextMs(), signal).catch(() => undefined);
    }
  }

  /** Asks once; says why there was no good answer. */
  async #ask(stopping: AbortSignal): Promise<string | undefined> {
    const { connection, clock, defaults, observe } = this.#options;
    const endpoint = connection.endpoint();
    if (!endpoint) return notThere;
    const headers = [...connection.credentials];
    if (this.#tag !== undefined) headers.push('if-none-match', this.#tag);
    const answer = await endpoint.pool
      .request({
        method: 'GET',
        path: endpoint.basePath + runtimeCalls.applicationsPath,
        headers,
        headersTimeout: askWithinMs,
        bodyTimeout: askWithinMs,
        signal: stopping,
      })
      .catch((error: unknown) => {
        connection.doubt();
        throw error;
      });
    const text = await answer.body.text();
    if (answer.statusCode !== 200 && answer.statusCode !== 304) return `it answered ${answer.statusCode}`;
    if (answer.statusCode === 200) {
      const listing = parseListing(text);
      if (!listing) return 'its answer cannot be read';
      const { etag } = answer.headers;
      this.#tag = typeof etag === 'string' ? etag : undefined;
      this.#replace(foundDefinitions(listing, defaults, this.#tenants));
      observe({ kind: 'found-functions.listed', count: this.#count() });
    }
    this.#heardMs = clock.monotonicMs();
    this.#isUnavailable = false;
    this.#waitNoMore();
    return undefined;
  }

  #noteFailure(reason: string): void {
    const { clock, observe, keepMs = shippedKeepMs } = this.#options;
    // Once each time: that it is not there yet is how every start begins.
    if (!this.#isUnavailable && reason !== notThere) {
      this.#isUnavailable = true;
      observe({ kind: 'found-functions.unavailable', reason });
    }
    if (this.#heardMs === undefined || clock.monotonicMs() - this.#heardMs < keepMs || this.#tenants.size === 0) return;
    observe({ kind: 'found-functions.forgotten', count: this.#count() });
    this.#tag = undefined;
    this.#replace(new Map());
  }

  #replace(now: ReadonlyMap<string, FoundNames>): void {
    const before = this.#tenants;
    this.#tenants = now;
    for (const tenantId of new Set([...before.keys(), ...now.keys()]) as Set<TenantId>) {
      const [old, current] = [before.get(tenantId)?.byName, now.get(tenantId)?.byName];
      for (const [name, definition] of current ?? [])
        if (old?.get(name) !== definition) this.#tell(tenantId, name, definition);
      for (const name of old?.keys() ?? []) if (!current?.has(name)) this.#tell(tenantId, name, undefined);
    }
  }

  #tell(tenantId: TenantId, name: string, now: FunctionDefinition | undefined): void {
    for (const listener of this.#listeners) listener(tenantId, name, now);
  }

  #count(): number {
    return [...this.#tenants.values()].reduce((sum, { listed }) => sum + listed.length, 0);
  }
}

const notThere = 'nobody has said yet where it is';

function explain(error: unknown): string {
  return error instanceof Error ? ('code' in error ? String(error.code) : error.message) : String(error);
}

/** Said by a runtime of ours; looked at all the same, since an address may be wrong. */
function parseListing(text: string): RuntimeListing | undefined {
  try {
    const listing = JSON.parse(text) as RuntimeListing;
    const isGood = listing.applications.every(
      ({ name, functions }) =>
        typeof name === 'string' &&
        functions.every((one) => typeof one.name === 'string' && typeof one.trigger === 'string'),
    );
    return isGood ? listing : undefined;
  } catch {
    return undefined;
  }
}
