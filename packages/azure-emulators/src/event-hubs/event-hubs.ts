import { MalformedMessage } from '../amqp/amqp-bytes.js';
import { amqpConditions, type AmqpError } from '../amqp/amqp-service.js';
import { EventHub, type Partition } from './event-hub.js';
import type { EventHubsJournal } from './event-hubs-journal.js';
import type { ProducerState } from './idempotent-producers.js';
import { type IncomingBatch, readIncomingBatch } from './incoming-batch.js';
import type { RetentionBounds } from './partition-log.js';

export interface EventHubSpec {
  readonly name: string;
  /** 1 to 1024. Default: `defaultPartitionCount`. */
  readonly partitionCount?: number;
  /** Besides `$Default`. */
  readonly consumerGroups?: readonly string[];
}

export interface EventHubsOptions {
  readonly hubs?: readonly EventHubSpec[];
  /** Makes hubs and consumer groups on first use. Default true. */
  readonly createOnFirstUse?: boolean;
  /** Default 4. */
  readonly defaultPartitionCount?: number;
  /** Per partition; the oldest events go first. Default: one hour, no other bound. */
  readonly retention?: RetentionBounds;
  /** Memory for all events; a send beyond it is refused with `amqp:resource-limit-exceeded`. Default 512 MiB. */
  readonly maxBytes?: number;
  readonly now?: () => number;
  /** Called with the name of a hub that has new events. */
  readonly onEvents?: (hub: string) => void;
}

const defaultRetention: RetentionBounds = { maxAgeMs: 60 * 60 * 1000 };
const hubName = /^[a-z0-9]([a-z0-9._-]{0,254}[a-z0-9])?$/i;

/** A producer link that numbers its events. */
export interface IdempotentLink {
  readonly id: number;
  readonly epoch: number;
}

/** The event hubs of a namespace: finds or makes them, and stores what producers send. No AMQP links inside. */
export class EventHubs {
  readonly now: () => number;
  readonly #hubs: Map<string, EventHub>;
  readonly #retention: RetentionBounds;
  readonly #maxBytes: number;
  #bytes = 0;
  readonly #options: EventHubsOptions;
  readonly #journal: EventHubsJournal | undefined;

  constructor(options: EventHubsOptions, journal: EventHubsJournal | undefined) {
    this.#options = options;
    this.#journal = journal;
    this.now = options.now ?? Date.now;
    this.#retention = options.retention ?? defaultRetention;
    this.#maxBytes = options.maxBytes ?? 512 * 1024 * 1024;
    this.#hubs = journal?.hubs ?? new Map();
    for (const hub of this.#hubs.values()) for (const { log } of hub.partitions) this.#bytes += log.bytes;
    this.declare(options.hubs ?? []);
  }

  /** Makes the hubs that do not exist yet; an existing hub keeps its partitions. */
  declare(specs: readonly EventHubSpec[]): void {
    for (const spec of specs) if (!this.has(spec.name)) this.#create(spec);
  }

  get all(): Iterable<EventHub> {
    return this.#hubs.values();
  }

  has(name: string): boolean {
    return this.#hubs.has(name.toLowerCase());
  }

  /** Returns the hub, made now if that is allowed and the name is legal. */
  find(name: string): EventHub | undefined {
    const known = this.#hubs.get(name.toLowerCase());
    if (known || this.#options.createOnFirstUse === false || !hubName.test(name)) return known;
    return this.#create({ name });
  }

  /** Tells whether a consumer group may be read: declared, or any when groups are made on first use. */
  allowsGroup(hub: EventHub, group: string): boolean {
    return this.#options.createOnFirstUse !== false || hub.hasGroup(group);
  }

  /** Stores a transfer. Returns an error to refuse it with; resolves when the events are accepted (durable, with a journal). */
  publish(
    hub: EventHub,
    target: Partition | undefined,
    transfer: { readonly payload: Buffer; readonly format: number },
    producer: IdempotentLink | undefined,
  ): AmqpError | Promise<void> | undefined {
    const batch = readSafely(transfer);
    if ('condition' in batch) return batch;
    if (batch.events.length === 0) return undefined;
    const partition = target ?? hub.choosePartition(batch);
    let state: ProducerState | undefined;
    if (producer) {
      const { firstProducerSequence, events } = batch;
      const decision = partition.producers.decide(producer.id, producer.epoch, firstProducerSequence, events.length);
      if (decision.kind === 'duplicate') return this.#journal?.recordProducer(hub, partition, decision.state);
      if (decision.kind === 'refused') return decision.error;
      state = decision.state;
    }
    const full = this.#makeRoom(hub, partition, transfer.payload.length);
    return full ?? this.#append(hub, partition, batch, state);
  }

  /** Drops what the retention no longer covers in one partition. */
  trim(partition: Partition): void {
    this.#bytes -= partition.log.trim(this.#retention, this.now());
  }

  /** Drops every event of a hub. Returns their number. */
  async purge(hub: EventHub): Promise<number> {
    this.#journal?.ensureWritable();
    let count = 0;
    for (const { log } of hub.partitions) {
      const before = log.bytes;
      count += log.purge();
      this.#bytes -= before - log.bytes;
    }
    await this.#journal?.recordPurge(hub);
    return count;
  }

  #create(spec: EventHubSpec): EventHub {
    const partitionCount = spec.partitionCount ?? this.#options.defaultPartitionCount ?? 4;
    if (!Number.isInteger(partitionCount) || partitionCount < 1 || partitionCount > 1024) {
      throw new RangeError(`Event hub ${spec.name} has ${partitionCount} partitions. Choose a number from 1 to 1024.`);
    }
    const hub = new EventHub(spec.name, partitionCount, spec.consumerGroups ?? [], this.now());
    this.#hubs.set(spec.name.toLowerCase(), hub);
    this.#journal?.recordHub(hub);
    return hub;
  }

  #append(
    hub: EventHub,
    partition: Partition,
    { events, partitionKey }: IncomingBatch,
    producer: ProducerState | undefined,
  ): Promise<void> | undefined {
    this.#journal?.ensureWritable();
    const { log } = partition;
    const before = log.bytes;
    const stored = log.append(events, partitionKey?.encoded, this.now());
    this.#bytes += log.bytes - before;
    if (producer) partition.producers.restore(producer);
    const show = (): void => {
      if (log.commit(stored.firstSequence + stored.starts.length)) {
        hub.wakeReaders(partition);
        this.#options.onEvents?.(hub.name);
      }
      this.trim(partition);
    };
    if (this.#journal) return this.#journal.recordBatch(hub, partition, stored, producer).then(show);
    show();
    return undefined;
  }

  /** Refuses a batch that does not fit, after the retention was applied everywhere. */
  #makeRoom(hub: EventHub, partition: Partition, bytes: number): AmqpError | undefined {
    if (this.#bytes + bytes <= this.#maxBytes) return undefined;
    for (const each of this.#hubs.values()) for (const part of each.partitions) this.trim(part);
    if (this.#bytes + bytes <= this.#maxBytes) return undefined;
    return {
      condition: amqpConditions.resourceLimitExceeded,
      description: `The emulator holds ${this.#bytes} bytes of events, of ${this.#maxBytes} allowed; ${bytes} more for ${hub.name}/${partition.id} do not fit. Raise the limit, shorten the retention or purge a hub.`,
    };
  }
}

function readSafely({
  payload,
  format,
}: {
  readonly payload: Buffer;
  readonly format: number;
}): IncomingBatch | AmqpError {
  try {
    return readIncomingBatch(payload, format);
  } catch (error) {
    if (!(error instanceof MalformedMessage)) throw error;
    return { condition: 'amqp:decode-error', description: `The message could not be read: ${error.message}.` };
  }
}
