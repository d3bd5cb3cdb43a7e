import { BoundedMap } from '@drover/service-kit';
import { authorityOf } from '../amqp/shared-access.js';
import type {
  BindingExtension,
  BindingExtensionFactory,
  BindingRequest,
  ExtensionParts,
  PreparedTrigger,
} from '../binding-extension.js';
import type { ParkedSource } from '../parked-trigger.js';
import type { Deliver, OutputTarget } from '../trigger-source.js';
import { AmqpHubClient } from './amqp-hub-client.js';
import { openCheckpointContainer } from './checkpoint-container.js';
import { BlobCheckpointStore } from './blob-checkpoint-store.js';
import type { CheckpointStore, ConsumerGroupPlace } from './checkpoint-store.js';
import { eventHubConnection, hubNameOf, type EventHubConnection } from './event-hub-connection.js';
import { EventHubListener } from './event-hub-listener.js';
import {
  eventHubOptions,
  eventHubOutputOptions,
  type EventHubHostOptions,
  type EventHubOptions,
} from './event-hub-options.js';
import { DeadLetterHub, EventHubOutput, HubProducer } from './event-hub-output.js';
import type { EventHubObservation } from './observations.js';
import { hubAddress, parkedEventHub } from './parked-event-hub.js';
import { RuntimeCheckpointStore } from './runtime-checkpoint-store.js';

const maxTargets = 1_000;
const defaultTryTimeoutMs = 15_000;

interface EventHubHost {
  readonly eventHubs: EventHubHostOptions;
}

/** The event hubs of one application: one connection per listener, one producer per hub. */
class EventHubExtension implements BindingExtension {
  readonly #parts: ExtensionParts<EventHubHost, EventHubObservation>;
  /** Bounded, since hub names can be built from messages. Beyond the bound, a producer is created for each send. */
  readonly #producers = new BoundedMap<string, HubProducer>({ maxWeight: maxTargets, whenFull: 'reject' });
  readonly #opened = new Set<HubProducer>();
  /** The function of each consumer group. */
  readonly #groups = new Map<string, string>();

  constructor(parts: ExtensionParts<EventHubHost, EventHubObservation>) {
    this.#parts = parts;
  }

  prepare(trigger: BindingRequest): PreparedTrigger {
    const { functionName } = trigger;
    const options = eventHubOptions({ functionName, host: this.#parts.host.eventHubs, binding: trigger.options });
    return {
      unknownKeys: options.unknownKeys,
      retryBackOffMs: 0,
      listen: (deliver) => this.#listen(trigger, options, deliver),
      park: () => this.#park(trigger, options),
    };
  }

  target(output: BindingRequest): OutputTarget {
    const { functionName } = output;
    const { host, observe, wakeups } = this.#parts;
    const options = eventHubOutputOptions({ functionName, host: host.eventHubs, binding: output.options });
    const connection = this.#connection(output);
    const hub = hubNameOf(functionName, connection, options.eventHubName);
    const producer = this.#producer(connection, hub, options);
    const { partitionKey, eventProperties } = options;
    const wake = (): void => wakeups.wake(hubAddress(connection, hub));
    return new EventHubOutput({ functionName, producer, partitionKey, eventProperties, wake, observe });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#opened].map((producer) => producer.close()));
  }

  #listen(trigger: BindingRequest, options: EventHubOptions, deliver: Deliver): EventHubListener {
    const { functionName } = trigger;
    const { clock, randomness, observe } = this.#parts;
    const connection = this.#connection(trigger);
    const hub = hubNameOf(functionName, connection, options.eventHubName);
    const { consumerGroup, customEndpointAddress, retries, deadLetterHub } = options;
    this.#warnOfSharedGroup(functionName, connection, hub, consumerGroup);
    return new EventHubListener({
      functionName,
      hub: new AmqpHubClient({
        connection,
        hub,
        customEndpointAddress,
        clock,
        tryTimeoutMs: retries.tryTimeout ?? defaultTryTimeoutMs,
        uuid: () => randomness.uuid(),
      }),
      setting: connection.setting,
      store: this.#store(functionName, options, { host: connection.host, hub, consumerGroup }, connection),
      deadLetters:
        deadLetterHub === undefined
          ? undefined
          : new DeadLetterHub(this.#producer(connection, deadLetterHub, options), `${hub}/${consumerGroup}`),
      options,
      deliver,
      clock,
      randomness,
      observe,
    });
  }

  #park(trigger: BindingRequest, options: EventHubOptions): ParkedSource {
    const { functionName } = trigger;
    const { application, clock, randomness } = this.#parts;
    const connection = this.#connection(trigger);
    const hub = hubNameOf(functionName, connection, options.eventHubName);
    const { consumerGroup, customEndpointAddress, initialOffset: initial, retries } = options;
    return parkedEventHub({
      connection,
      hub,
      consumerGroup,
      customEndpointAddress,
      initial,
      store: this.#store(functionName, options, { host: connection.host, hub, consumerGroup }, connection),
      application,
      functionName,
      tryTimeoutMs: retries.tryTimeout ?? defaultTryTimeoutMs,
      clock,
      uuid: () => randomness.uuid(),
    });
  }

  #store(
    functionName: string,
    options: EventHubOptions,
    place: ConsumerGroupPlace,
    connection: EventHubConnection,
  ): CheckpointStore {
    const { application, settings, store } = this.#parts;
    if (options.checkpointStore === 'runtime')
      return new RuntimeCheckpointStore(store, application, { ...place, host: authorityOf(connection) });
    const { checkpointContainer: container, checkpointConnection } = options;
    const open = openCheckpointContainer({ functionName, container, connection: checkpointConnection, settings });
    return new BlobCheckpointStore(container, open, place);
  }

  #producer(
    connection: EventHubConnection,
    hub: string,
    { customEndpointAddress, retries }: Pick<EventHubOptions, 'customEndpointAddress' | 'retries'>,
  ): HubProducer {
    const key = `${connection.setting}\n${hub}`;
    const known = this.#producers.get(key);
    if (known) return known;
    const producer = new HubProducer({ connection, hub, customEndpointAddress, retries, clock: this.#parts.clock });
    if (this.#producers.set(key, producer)) this.#opened.add(producer);
    return producer;
  }

  #connection(binding: BindingRequest): EventHubConnection {
    const { connection } = binding.options;
    const name = typeof connection === 'string' ? connection : undefined;
    const { settings } = this.#parts;
    return eventHubConnection({ functionName: binding.functionName, connection: name, settings });
  }

  #warnOfSharedGroup(functionName: string, connection: EventHubConnection, hub: string, consumerGroup: string): void {
    const key = `${authorityOf(connection)}/${hub}/${consumerGroup}`.toLowerCase();
    const other = this.#groups.get(key);
    if (other !== undefined && other !== functionName)
      this.#parts.observe({ kind: 'event-hub.group-shared', functionName, hub, consumerGroup, other });
    this.#groups.set(key, functionName);
  }
}

export const eventHubExtension: BindingExtensionFactory<EventHubHost, EventHubObservation> = {
  types: { triggers: ['eventHubTrigger'], inputs: [], outputs: ['eventHub'] },
  create: (parts) => new EventHubExtension(parts),
};
