import { WakeUp, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import { NamespaceClient } from '../amqp/namespace-client.js';
import type { WarmNamespaces } from '../amqp/warm-namespaces.js';
import type { BusClients } from './bus-clients.js';
import type { BusMessage } from './bus-message.js';
import type { BusOutage } from './bus-outage.js';
import type { MessageLink } from './bus-message-lock.js';
import type { ServiceBusObservation } from './observations.js';
import { PlainLink } from './plain-link.js';
import { LinkAttempts, type Receiving } from './receiving.js';
import { busProduct, type ServiceBusConnection } from './service-bus-connection.js';
import type { ServiceBusTriggerOptions } from './service-bus-options.js';

interface PlainReceivingOptions {
  readonly functionName: string;
  readonly connection: ServiceBusConnection;
  readonly options: ServiceBusTriggerOptions;
  readonly clients: BusClients;
  readonly outage: BusOutage;
  readonly warmNamespaces?: WarmNamespaces | undefined;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<ServiceBusObservation>;
  readonly onMessages: (messages: readonly BusMessage[], link: MessageLink) => void;
}

/** Messages of the next batch that come while one runs: without them the link is idle for as long as the function runs. */
const mostOfNextBatch = 256;
/** Upper bound on a lost wake-up. */
const pausedCheckMs = 60_000;

/** Receives from an entity without sessions: over a link that is replaced when it ends. */
export class PlainReceiving implements Receiving {
  readonly #options: PlainReceivingOptions;
  readonly #namespace: NamespaceClient;
  readonly #links = new Set<PlainLink>();
  readonly #resumed = new WakeUp();
  #isPaused = false;
  #workers = 1;

  constructor(options: PlainReceivingOptions) {
    this.#options = options;
    const { connection, warmNamespaces: warm, clock, randomness } = options;
    const { tryTimeoutMs } = options.options;
    const uuid = (): string => randomness.uuid();
    const { namespace } = connection;
    this.#namespace = new NamespaceClient({ namespace, product: busProduct, warm, clock, tryTimeoutMs, uuid });
  }

  async run(closing: AbortSignal): Promise<void> {
    await this.#keepOpen(closing);
  }

  pause(): void {
    this.#isPaused = true;
    void this.retire();
  }

  resume(): void {
    this.#isPaused = false;
    this.#resumed.notify();
  }

  scale(workers: number): void {
    this.#workers = workers;
    for (const link of this.#links) link.growTo(this.#credits);
  }

  async retire(): Promise<void> {
    await Promise.all([...this.#links].map((link) => link.retire()));
  }

  async close(): Promise<void> {
    for (const link of this.#links) link.close();
    await this.#namespace.close();
  }

  get #credits(): number {
    const { isBatch, batch, maxConcurrentCalls, prefetchCount } = this.#options.options;
    const ahead = isBatch ? Math.max(prefetchCount, Math.min(batch.max, mostOfNextBatch)) : prefetchCount;
    return this.#workers * ((isBatch ? batch.max : maxConcurrentCalls) + ahead);
  }

  async #keepOpen(closing: AbortSignal): Promise<void> {
    const { functionName, options, observe, clock } = this.#options;
    const attempts = new LinkAttempts(this.#options);
    while (!closing.aborted) {
      this.#resumed.reset();
      if (this.#isPaused) {
        await this.#resumed.wait(clock, pausedCheckMs, closing);
        continue;
      }
      const link = this.#open(attempts);
      const failure = await link.ended;
      this.#links.delete(link);
      if (failure) await attempts.failed(failure.error, link.hasDelivered, closing);
      else if (!this.#isPaused && !closing.aborted) {
        const unsettled = link.unsettled;
        observe({ kind: 'service-bus.receiver-replaced', functionName, entity: options.entity.path, unsettled });
      }
    }
  }

  #open(attempts: LinkAttempts): PlainLink {
    const { options, clients, clock, randomness, onMessages } = this.#options;
    const link = new PlainLink({
      namespace: this.#namespace,
      clients,
      entityPath: options.entity.path,
      name: `${options.entity.path}-${randomness.uuid()}`,
      credits: this.#credits,
      tryTimeoutMs: options.tryTimeoutMs,
      clock,
      onOpen: () => attempts.opened(),
      onMessages,
    });
    this.#links.add(link);
    void link.open();
    return link;
  }
}
