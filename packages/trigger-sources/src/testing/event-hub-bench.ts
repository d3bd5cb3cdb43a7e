import { randomUUID } from 'node:crypto';
import { systemClock, systemRandomness } from '@drover/service-kit';
import { AmqpHubClient } from '../event-hubs/amqp-hub-client.js';
import { BlobCheckpointStore } from '../event-hubs/blob-checkpoint-store.js';
import { openCheckpointContainer } from '../event-hubs/checkpoint-container.js';
import type { CheckpointStore } from '../event-hubs/checkpoint-store.js';
import { eventHubConnection, hubNameOf } from '../event-hubs/event-hub-connection.js';
import { EventHubListener } from '../event-hubs/event-hub-listener.js';
import { eventHubOptions, type EventHubOptions } from '../event-hubs/event-hub-options.js';
import { DeadLetterHub, HubProducer } from '../event-hubs/event-hub-output.js';
import type { EventHubObservation } from '../event-hubs/observations.js';
import { RuntimeCheckpointStore } from '../event-hubs/runtime-checkpoint-store.js';
import { MemoryTriggerStore } from '../store/memory-trigger-store.js';
import type { TriggerStore } from '../store/trigger-store.js';
import type { Deliver } from '../trigger-source.js';

export interface EventHubBenchOptions {
  readonly eventHubs: string;
  /** A storage account for checkpoints; without it they are in `store`. */
  readonly storage?: string;
  readonly store?: TriggerStore;
  readonly binding?: Readonly<Record<string, unknown>>;
  /** Time limit of one request. */
  readonly tryTimeoutMs?: number;
}

const never = new AbortController().signal;
const functionName = 'ingest';

/** A hub of its own at a real service, with what a process has around it. Claims change within a second. */
export class EventHubBench {
  readonly observed: EventHubObservation[] = [];
  readonly options: EventHubOptions;
  readonly hub: string;
  readonly producer: HubProducer;
  readonly #bench: EventHubBenchOptions;
  readonly #store: TriggerStore;
  readonly #clients: AmqpHubClient[] = [];

  constructor(bench: EventHubBenchOptions) {
    this.#bench = bench;
    this.#store = bench.store ?? new MemoryTriggerStore();
    this.options = eventHubOptions({
      functionName,
      host: { loadBalancingUpdateInterval: 300, partitionOwnershipExpirationInterval: 1_500 },
      binding: { eventHubName: `orders-${randomUUID().slice(0, 8)}`, ...bench.binding },
    });
    this.hub = hubNameOf(functionName, this.connection, this.options.eventHubName);
    this.producer = this.producerOf(this.hub);
  }

  get connection() {
    return eventHubConnection({ functionName, connection: 'Shop', settings: { Shop: this.#bench.eventHubs } });
  }

  get store(): CheckpointStore {
    const { storage } = this.#bench;
    const place = { host: this.connection.host, hub: this.hub, consumerGroup: this.options.consumerGroup };
    if (storage === undefined) return new RuntimeCheckpointStore(this.#store, 'app', place);
    const { checkpointContainer: container } = this.options;
    const settings = { AzureWebJobsStorage: storage };
    const open = openCheckpointContainer({ functionName, container, connection: undefined, settings });
    return new BlobCheckpointStore(container, open, place);
  }

  client(hub = this.hub): AmqpHubClient {
    const client = new AmqpHubClient({
      connection: this.connection,
      hub,
      customEndpointAddress: undefined,
      clock: systemClock,
      tryTimeoutMs: this.#bench.tryTimeoutMs ?? 10_000,
      uuid: () => randomUUID(),
    });
    this.#clients.push(client);
    return client;
  }

  producerOf(hub: string): HubProducer {
    const retries = { maxRetries: 0, tryTimeout: 5_000 };
    return new HubProducer({
      connection: this.connection,
      hub,
      customEndpointAddress: undefined,
      retries,
      clock: systemClock,
    });
  }

  listener(deliver: Deliver): EventHubListener {
    const { deadLetterHub } = this.options;
    return new EventHubListener({
      functionName,
      hub: this.client(),
      setting: 'Shop',
      store: this.store,
      deadLetters:
        deadLetterHub === undefined ? undefined : new DeadLetterHub(this.producerOf(deadLetterHub), this.hub),
      options: this.options,
      deliver,
      clock: systemClock,
      randomness: systemRandomness,
      observe: (observation) => void this.observed.push(observation),
    });
  }

  /** Sends each body as an event; without a key they are spread over the partitions. */
  async send(bodies: readonly (string | Uint8Array)[], partitionKey?: string): Promise<void> {
    const events = bodies.map((body) => ({ body: Buffer.from(body) }));
    if (partitionKey !== undefined) return await this.producer.send(events, partitionKey, never);
    for (const [index, event] of events.entries()) await this.producer.send([event], `key ${index % 7}`, never);
  }

  /** Events that are not below a checkpoint. */
  async remaining(): Promise<number> {
    const idle = this.listener(() => Promise.reject(new Error('it is not started')));
    try {
      const { lagByPartition = {} } = await idle.measure(never);
      return Object.values(lagByPartition).reduce((sum, lag) => sum + lag, 0);
    } finally {
      await idle.stop();
    }
  }

  kinds<Kind extends EventHubObservation['kind']>(
    ...kinds: readonly Kind[]
  ): readonly Extract<EventHubObservation, { readonly kind: Kind }>[] {
    return this.observed.filter(
      (observation): observation is Extract<EventHubObservation, { readonly kind: Kind }> =>
        kinds.includes(observation.kind as Kind), // the filter decides
    );
  }

  async close(): Promise<void> {
    await this.producer.close();
    await Promise.all(this.#clients.map((client) => client.close()));
  }
}
