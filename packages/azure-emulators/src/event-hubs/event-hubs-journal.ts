import type { JournalRecord } from '../journal/frame.js';
import { FileJournal } from '../journal/file-journal.js';
import { EventHub, type Partition } from './event-hub.js';
import type { ProducerState } from './idempotent-producers.js';
import type { StoredBatch } from './stored-events.js';

/** The JSON head of a record. A batch has its starts and its bytes behind it. */
type RecordHead =
  | {
      readonly kind: 'hub';
      readonly hub: string;
      readonly partitions: number;
      readonly groups: readonly string[];
      readonly createdMs: number;
    }
  | {
      /** A batch of events, or with a count of 0 the place where the next one goes. */
      readonly kind: 'batch';
      readonly hub: string;
      readonly partition: string;
      readonly sequence: number;
      readonly offset: number;
      readonly timeMs: number;
      readonly count: number;
      readonly producer?: ProducerState;
    }
  | { readonly kind: 'producer'; readonly hub: string; readonly partition: string; readonly state: ProducerState }
  | { readonly kind: 'purge'; readonly hub: string };

type BatchHead = Extract<RecordHead, { kind: 'batch' }>;

/** Makes event hubs durable: one record per hub and per batch, in the order they became part of the state. */
export class EventHubsJournal {
  /** The state itself, by lower-case name: what was restored, and every hub made since. */
  readonly hubs: Map<string, EventHub>;
  readonly #journal: FileJournal;

  private constructor(journal: FileJournal, hubs: Map<string, EventHub>) {
    this.#journal = journal;
    this.hubs = hubs;
  }

  static async open(directory: string, warn?: (sentence: string) => void): Promise<EventHubsJournal> {
    const hubs = new Map<string, EventHub>();
    const journal = await FileJournal.open({
      directory,
      replay: (record) => replayRecord(hubs, record),
      snapshot: () => snapshotRecords(hubs.values()),
      ...(warn && { warn }),
    });
    for (const hub of hubs.values()) for (const { log } of hub.partitions) log.commit();
    return new EventHubsJournal(journal, hubs);
  }

  /** Throws when nothing can be recorded now. Call it before the state is changed. */
  ensureWritable(): void {
    this.#journal.ensureWritable();
  }

  /** Not awaited: the first batch is recorded behind it, and the snapshot that ends a refusal of the disk contains the hub. */
  recordHub(hub: EventHub): void {
    this.#journal.append(encodeRecord(hubHead(hub))).catch(() => undefined);
  }

  /** Resolves when the batch is durable. */
  recordBatch(
    hub: EventHub,
    partition: Partition,
    batch: StoredBatch,
    producer: ProducerState | undefined,
  ): Promise<void> {
    return this.#journal.append(batchRecord(hub, partition, batch, producer));
  }

  /** Resolves when everything recorded so far is durable. */
  recordProducer(hub: EventHub, partition: Partition, state: ProducerState): Promise<void> {
    return this.#journal.append(encodeRecord({ kind: 'producer', hub: hub.name, partition: partition.id, state }));
  }

  recordPurge(hub: EventHub): Promise<void> {
    return this.#journal.append(encodeRecord({ kind: 'purge', hub: hub.name }));
  }

  close(): Promise<void> {
    return this.#journal.close();
  }
}

function hubHead(hub: EventHub): RecordHead {
  const { name, partitions, consumerGroups, createdMs } = hub;
  return { kind: 'hub', hub: name, partitions: partitions.length, groups: consumerGroups, createdMs };
}

function batchRecord(
  hub: EventHub,
  partition: Partition,
  batch: StoredBatch,
  producer: ProducerState | undefined,
): JournalRecord {
  const head: BatchHead = {
    kind: 'batch',
    hub: hub.name,
    partition: partition.id,
    sequence: batch.firstSequence,
    offset: batch.baseOffset,
    timeMs: batch.enqueuedMs,
    count: batch.starts.length,
    ...(producer && { producer }),
  };
  return encodeRecord(head, Buffer.from(batch.starts.buffer), batch.bytes);
}

function* snapshotRecords(hubs: Iterable<EventHub>): Iterable<JournalRecord> {
  for (const hub of hubs) {
    yield encodeRecord(hubHead(hub));
    for (const partition of hub.partitions) {
      const { log } = partition;
      for (const batch of log.batchesFrom(log.beginSequence)) yield batchRecord(hub, partition, batch, undefined);
      const { sequence, offset, enqueuedMs: timeMs } = log.end;
      yield encodeRecord({ kind: 'batch', hub: hub.name, partition: partition.id, sequence, offset, timeMs, count: 0 });
      for (const state of partition.producers.all) {
        yield encodeRecord({ kind: 'producer', hub: hub.name, partition: partition.id, state });
      }
    }
  }
}

function encodeRecord(head: RecordHead, ...rest: readonly Buffer[]): JournalRecord {
  const json = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(json.length);
  return [length, json, ...rest];
}

function replayRecord(hubs: Map<string, EventHub>, record: Buffer): void {
  const headEnd = 4 + record.readUInt32LE();
  const head = JSON.parse(record.toString('utf8', 4, headEnd)) as RecordHead;
  const key = head.hub.toLowerCase();
  if (head.kind === 'hub') {
    hubs.set(key, new EventHub(head.hub, head.partitions, head.groups, head.createdMs));
    return;
  }
  const hub = hubs.get(key);
  if (!hub) throw new Error(`The journal has a record of event hub ${head.hub} before the hub itself.`);
  if (head.kind === 'purge') {
    for (const { log } of hub.partitions) {
      log.commit();
      log.purge();
    }
    return;
  }
  const partition = hub.partition(head.partition);
  if (!partition)
    throw new Error(`The journal has events of partition ${head.partition} of ${head.hub}, which has none.`);
  if (head.kind === 'producer') partition.producers.restore(head.state);
  else replayBatch(partition, head, record.subarray(headEnd));
}

function replayBatch(partition: Partition, head: BatchHead, rest: Buffer): void {
  if (head.producer) partition.producers.restore(head.producer);
  const { sequence, offset, timeMs, count } = head;
  if (count === 0) {
    partition.log.restoreEnd(sequence, offset, timeMs);
    return;
  }
  // Copies: the record is part of a larger buffer, and a typed array needs an aligned start.
  const starts = new Uint32Array(count);
  for (let i = 0; i < count; i += 1) starts[i] = rest.readUInt32LE(i * 4);
  const bytes = Buffer.from(rest.subarray(count * 4));
  partition.log.restore({ firstSequence: sequence, baseOffset: offset, enqueuedMs: timeMs, bytes, starts });
}
