import { defineStates } from '@drover/contracts';
import type { Emulators } from '@drover/azure-emulators';
import { BackOff, sleep, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import { mergeDemands, type DemandedEndpoint } from './emulator-demand.js';
import type { EmulatorsObservation } from './emulators-observations.js';

/**
 * - starting: this process tries to listen on the port
 * - serving: this process serves the endpoint
 * - borrowed: an emulator of another process serves it; this one starts when that one is gone
 * - blocked: neither can: another program has the port, or the data cannot be opened; tried again
 * - stopped: over
 */
export const emulatorEndpointStates = defineStates('emulator endpoint', {
  starting: ['serving', 'borrowed', 'blocked', 'stopped'],
  serving: ['stopped'],
  borrowed: ['starting', 'stopped'],
  blocked: ['starting', 'stopped'],
  stopped: [],
});

interface EndpointKeeperOptions {
  readonly endpoint: DemandedEndpoint;
  /** For messages: `blobs on 127.0.0.1:10000`. */
  readonly name: string;
  /** Starts an emulator for one endpoint. Rejects with an error whose `isEmulator` is true if another one answers there. */
  readonly open: (endpoint: DemandedEndpoint) => Promise<Emulators>;
  /** Resolves when no program listens at the port any more. */
  readonly untilFree: (port: number, signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<EmulatorsObservation>;
}

const retryBackOff = { firstMs: 500, maxMs: 10_000, factor: 2 };

/** Makes sure that an emulator answers at one endpoint for as long as it is not stopped: its own, or one that was there before. */
export class EndpointKeeper {
  readonly name: string;
  readonly #options: EndpointKeeperOptions;
  readonly #state = emulatorEndpointStates.start('starting');
  readonly #stopping = new AbortController();
  readonly #backOff: BackOff;
  readonly #run: Promise<void>;
  #endpoint: DemandedEndpoint;
  #emulators: Emulators | undefined;
  #settle: () => void = () => undefined;
  /** Resolves when the first attempt is over, whatever its result. */
  readonly settled: Promise<void>;

  constructor(options: EndpointKeeperOptions) {
    this.name = options.name;
    this.#options = options;
    this.#endpoint = options.endpoint;
    this.#backOff = new BackOff(retryBackOff, options);
    this.settled = new Promise((resolve) => (this.#settle = resolve));
    this.#run = this.#keep(this.#stopping.signal).catch(() => undefined); // stopped
  }

  get state(): (typeof emulatorEndpointStates.all)[number] {
    return this.#state.current;
  }

  /** The emulator of this process; undefined unless it serves. */
  get emulators(): Emulators | undefined {
    return this.#emulators;
  }

  /** Creates the entities of a further demand for the same endpoint. */
  async declare(demand: DemandedEndpoint): Promise<void> {
    const [merged = demand] = mergeDemands([this.#endpoint, demand]);
    this.#endpoint = merged;
    await this.#emulators?.declare(toEntities(merged));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#run;
    await this.#emulators?.stop();
    this.#emulators = undefined;
    if (!this.#state.is('stopped')) this.#state.move('stopped');
  }

  async #keep(signal: AbortSignal): Promise<void> {
    const { untilFree, clock, observe } = this.#options;
    /** The last problem that was observed: the same one is not observed at every attempt. */
    let observed: string | undefined;
    for (let attempt = 1; ; attempt++) {
      const failure = await this.#tryToServe();
      if (signal.aborted) return;
      if (!failure) {
        this.#state.move('serving');
        if (attempt > 1) observe({ kind: 'emulators.taken-over', endpoint: this.name });
        return this.#settle();
      }
      const { isEmulator, reason } = failure;
      this.#state.move(isEmulator ? 'borrowed' : 'blocked');
      if (!isEmulator && reason !== observed) observe({ kind: 'emulators.blocked', endpoint: this.name, reason });
      observed = isEmulator ? undefined : reason;
      this.#settle();
      await (isEmulator ? untilFree(this.#endpoint.port, signal) : sleep(clock, this.#backOff.nextMs(), signal));
      this.#state.move('starting');
    }
  }

  /** Returns why this process cannot serve the endpoint; undefined if it does. */
  async #tryToServe(): Promise<{ readonly reason: string; readonly isEmulator: boolean } | undefined> {
    try {
      this.#emulators = await this.#options.open(this.#endpoint);
      return undefined;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return { reason, isEmulator: error instanceof Error && 'isEmulator' in error && error.isEmulator === true };
    }
  }
}

export function toEntities({ entities }: DemandedEndpoint): Parameters<Emulators['declare']>[0] {
  return {
    queues: entities.queues,
    topics: entities.topics.map(({ name, subscriptions }) => ({
      name,
      subscriptions: subscriptions.map((one) => ({ ...one, rules: [] })),
    })),
    eventHubs: entities.eventHubs,
    storageQueues: [],
  };
}
