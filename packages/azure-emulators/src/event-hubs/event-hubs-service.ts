import {
  amqpConditions,
  type AmqpError,
  type AmqpService,
  type AmqpClient,
  type ConsumerLink,
  entityNotFound,
  type IncomingDelivery,
  type ManagementReply,
  type ManagementRequest,
  type ProducerLink,
} from '../amqp/amqp-service.js';
import { amqpValue, integerOf } from '../amqp/values.js';
import type { EventHub, Partition } from './event-hub.js';
import type { EventHubs, IdempotentLink } from './event-hubs.js';
import { readManagement } from './event-hubs-management.js';
import { parseEventPosition } from './event-position.js';
import { PartitionReader, type ReaderStart } from './partition-reader.js';
import { decideReader } from './reader-rules.js';

const consumerAddress = /^([^/]+)\/consumergroups\/([^/]+)\/partitions\/([^/]+)$/i;
const producerAddress = /^([^/]+)(?:\/partitions\/([^/]+)|\/publishers\/[^/]+)?$/i;
const selectorFilter = 'apache.org:selector-filter:string';
const idempotentCapability = 'com.microsoft:idempotent-producer';

/** Event Hubs over AMQP: producers and consumers of hubs, and the `$management` node. */
export class EventHubsService implements AmqpService {
  readonly name = 'event-hubs';
  readonly #hubs: EventHubs;

  constructor(hubs: EventHubs) {
    this.#hubs = hubs;
  }

  claims(address: string, connection: AmqpClient): boolean {
    const agent = connection.userAgent?.replaceAll('-', '').toLowerCase() ?? '';
    if (agent.includes('eventhub')) return true;
    if (agent.includes('servicebus')) return false;
    if (address.toLowerCase() === '$management' || consumerAddress.test(address)) return true;
    const hub = producerAddress.exec(address)?.[1];
    return hub !== undefined && this.#hubs.has(hub);
  }

  onProducer(link: ProducerLink): void {
    const match = producerAddress.exec(link.address);
    const hub = match?.[1] === undefined ? undefined : this.#hubs.find(match[1]);
    if (!hub) {
      link.refuse(entityNotFound(link.address));
      return;
    }
    const partition = match?.[2] === undefined ? undefined : hub.partition(match[2]);
    if (match?.[2] !== undefined && !partition) {
      link.refuse(noPartition(hub, match[2]));
      return;
    }
    if (link.desiredCapabilities.includes(idempotentCapability)) this.#acceptIdempotent(link, hub, partition);
    else this.#acceptProducer(link, hub, partition, undefined);
  }

  onConsumer(link: ConsumerLink): void {
    const [, hubName = '', group = '', partitionId = ''] = consumerAddress.exec(link.address) ?? [];
    const hub = hubName === '' ? undefined : this.#hubs.find(hubName);
    if (!hub || !this.#hubs.allowsGroup(hub, group)) {
      link.refuse(entityNotFound(link.address));
      return;
    }
    const partition = hub.partition(partitionId);
    if (!partition) {
      link.refuse(noPartition(hub, partitionId));
      return;
    }
    const position = parseEventPosition(link.filters.get(selectorFilter));
    if (!position) {
      const description = `The filter '${String(link.filters.get(selectorFilter))}' is no event position. Use an offset, a sequence number or an enqueued time.`;
      link.refuse({ condition: amqpConditions.argumentError, description });
      return;
    }
    this.#hubs.trim(partition);
    const start = {
      sequence: partition.log.locate(position),
      // Of a time that is still to come: events before it are not for this reader either.
      afterMs: position.kind === 'enqueuedTime' ? position.afterMs : -Infinity,
    };
    this.#attachReader(link, hub, partition, group.toLowerCase(), start);
  }

  onRequest(request: ManagementRequest): ManagementReply {
    return readManagement(this.#hubs, request);
  }

  #attachReader(link: ConsumerLink, hub: EventHub, partition: Partition, group: string, start: ReaderStart): void {
    const readers = partition.readers.get(group) ?? new Set<PartitionReader>();
    partition.readers.set(group, readers);
    const ownerLevel = integerOf(link.properties['com.microsoft:epoch']);
    const decision = decideReader([...readers], ownerLevel, `${hub.name}/${partition.id}`);
    if ('refused' in decision) {
      link.refuse(decision.refused);
      return;
    }
    const reader = new PartitionReader(link, partition.log, start, ownerLevel, this.#hubs.now);
    // Attached first: a client that moves a partition between two links of one connection sees the new one open.
    readers.add(reader);
    link.accept({ onCredit: () => reader.deliver(), onClose: () => void readers.delete(reader) });
    for (const { reader: other, error } of decision.disconnected) other.disconnect(error);
  }

  #acceptIdempotent(link: ProducerLink, hub: EventHub, partition: Partition | undefined): void {
    if (!partition) {
      const description = 'An idempotent producer sends to one partition. Open the link to <hub>/Partitions/<id>.';
      link.refuse({ condition: amqpConditions.notAllowed, description });
      return;
    }
    const number = (name: string): number | undefined => integerOf(link.properties[`com.microsoft:producer-${name}`]);
    const state = partition.producers.open(number('id'), number('epoch'), number('sequence-number'));
    if ('condition' in state) {
      link.refuse(state);
      return;
    }
    this.#acceptProducer(link, hub, partition, state, {
      'com.microsoft:producer-id': amqpValue.long(state.id),
      'com.microsoft:producer-epoch': amqpValue.short(state.epoch),
      'com.microsoft:producer-sequence-number': amqpValue.int(state.lastSequence),
    });
  }

  #acceptProducer(
    link: ProducerLink,
    hub: EventHub,
    partition: Partition | undefined,
    producer: IdempotentLink | undefined,
    properties?: Readonly<Record<string, unknown>>,
  ): void {
    const offeredCapabilities = producer ? [idempotentCapability] : [];
    link.accept(
      { onMessage: (delivery) => this.#publish(hub, partition, delivery, producer) },
      { offeredCapabilities, ...(properties && { properties }) },
    );
  }

  #publish(
    hub: EventHub,
    partition: Partition | undefined,
    delivery: IncomingDelivery,
    producer: IdempotentLink | undefined,
  ): void {
    try {
      const result = this.#hubs.publish(hub, partition, delivery, producer);
      if (result === undefined) delivery.accept();
      else if (result instanceof Promise)
        result.then(() => delivery.accept()).catch((error: unknown) => refuse(delivery, error));
      else delivery.reject(result);
    } catch (error) {
      refuse(delivery, error);
    }
  }
}

/** A disk that refuses writes: the SDK tries again. */
function refuse(delivery: IncomingDelivery, error: unknown): void {
  const description = error instanceof Error ? error.message : String(error);
  delivery.reject({ condition: amqpConditions.serverBusy, description });
}

function noPartition(hub: EventHub, id: string): AmqpError {
  const last = hub.partitions.length - 1;
  return {
    condition: amqpConditions.argumentOutOfRange,
    description: `The partition '${id}' does not exist in event hub ${hub.name}. Valid partition ids are 0 to ${last}.`,
  };
}
