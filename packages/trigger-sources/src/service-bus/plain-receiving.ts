import type { ServiceBusReceivedMessage } from '@azure/service-bus';
import { WakeUp, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import type { BusClients } from './bus-clients.js';
import type { BusOutage } from './bus-outage.js';
import type { MessageLink, BusMessageLock } from './bus-message-lock.js';
import type { ServiceBusObservation } from './observations.js';
import { PlainLink } from './plain-link.js';
import { LinkAttempts, type Receiving } from './receiving.js';
import type { ServiceBusTriggerOptions } from './service-bus-options.js';

interface PlainReceivingOptions {
  readonly functionName: string;
  readonly options: ServiceBusTriggerOptions;
  readonly clients: BusClients;
  readonly outage: BusOutage;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<ServiceBusObservation>;
  readonly onMessage: (message: ServiceBusReceivedMessage, link: MessageLink) => BusMessageLock;
}

/** Credits of one link: a fraction of the 2,048 deliveries that the SDK holds per receiver. */
const mostCreditsPerLink = 512;
/** Messages of the next batch that come while one runs: without them the link is idle for as long as the function runs. */
const mostOfNextBatch = 256;
/** Upper bound on a lost wake-up. */
const pausedCheckMs = 60_000;

/** Receives from an entity without sessions: over as many links as the credits need, each replaced when it ends. */
export class PlainReceiving implements Receiving {
  readonly #options: PlainReceivingOptions;
  readonly #links = new Set<PlainLink>();
  readonly #resumed = new WakeUp();
  #isPaused = false;

  constructor(options: PlainReceivingOptions) {
    this.#options = options;
  }

  async run(closing: AbortSignal): Promise<void> {
    const { isBatch, batch, maxConcurrentCalls, prefetchCount } = this.#options.options;
    const ahead = isBatch ? Math.max(prefetchCount, Math.min(batch.max, mostOfNextBatch)) : prefetchCount;
    const credits = (isBatch ? batch.max : maxConcurrentCalls) + ahead;
    const links = Math.ceil(credits / mostCreditsPerLink);
    const perLink = Math.ceil(credits / links);
    await Promise.all(Array.from({ length: links }, () => this.#keepOpen(perLink, closing)));
  }

  pause(): void {
    this.#isPaused = true;
    void this.retire();
  }

  resume(): void {
    this.#isPaused = false;
    this.#resumed.notify();
  }

  async retire(): Promise<void> {
    await Promise.all([...this.#links].map((link) => link.retire()));
  }

  close(): Promise<void> {
    return this.retire();
  }

  async #keepOpen(credits: number, closing: AbortSignal): Promise<void> {
    const { functionName, options, observe, clock } = this.#options;
    const attempts = new LinkAttempts(this.#options);
    while (!closing.aborted) {
      this.#resumed.reset();
      if (this.#isPaused) {
        await this.#resumed.wait(clock, pausedCheckMs, closing);
        continue;
      }
      const link = await this.#open(credits, attempts);
      // Both may have happened while the SDK was loaded.
      if (closing.aborted || this.#isPaused) void link.retire();
      const failure = await link.ended;
      this.#links.delete(link);
      if (failure) await attempts.failed(failure.error, link.hasDelivered, closing);
      else if (!this.#isPaused && !closing.aborted) {
        const unsettled = link.unsettled;
        observe({ kind: 'service-bus.receiver-replaced', functionName, entity: options.entity.path, unsettled });
      }
    }
  }

  async #open(credits: number, attempts: LinkAttempts): Promise<PlainLink> {
    const { options, clients, clock, onMessage } = this.#options;
    const bus = await clients.current();
    const link = new PlainLink({
      bus,
      clients,
      entityPath: options.entity.path,
      credits,
      openWithinMs: options.tryTimeoutMs,
      clock,
      onOpen: () => attempts.opened(),
      onMessage,
    });
    this.#links.add(link);
    void link.ended.then((failure) => {
      if (failure) clients.discard(bus);
    });
    link.open();
    return link;
  }
}
