import type { IncomingBatch } from './incoming-batch.js';
import { IdempotentProducers } from './idempotent-producers.js';
import { partitionOfKey } from './partition-key.js';
import { PartitionLog } from './partition-log.js';
import type { PartitionReader } from './partition-reader.js';

/** A partition: its log, the producers that number their events, and the readers by consumer group (lower case). */
export interface Partition {
  readonly id: string;
  readonly log: PartitionLog;
  readonly producers: IdempotentProducers;
  readonly readers: Map<string, Set<PartitionReader>>;
}

/** An event hub: partitions and consumer groups. */
export class EventHub {
  readonly partitions: readonly Partition[];
  readonly #groups: Set<string>;
  #nextPartition = 0;
  readonly name: string;
  readonly consumerGroups: readonly string[];
  readonly createdMs: number;

  constructor(name: string, partitionCount: number, consumerGroups: readonly string[], createdMs: number) {
    this.name = name;
    this.consumerGroups = consumerGroups;
    this.createdMs = createdMs;
    this.#groups = new Set(['$default', ...consumerGroups.map((group) => group.toLowerCase())]);
    this.partitions = Array.from({ length: partitionCount }, (_, index) => ({
      id: String(index),
      log: new PartitionLog(),
      producers: new IdempotentProducers(),
      readers: new Map(),
    }));
  }

  hasGroup(group: string): boolean {
    return this.#groups.has(group.toLowerCase());
  }

  partition(id: string): Partition | undefined {
    return this.partitions.find((partition) => partition.id === id);
  }

  /** Picks the partition of a batch that names none: by its key, else one after the other. */
  choosePartition(batch: IncomingBatch): Partition {
    const index = batch.partitionKey
      ? partitionOfKey(batch.partitionKey.text, this.partitions.length)
      : this.#nextPartition++ % this.partitions.length;
    const partition = this.partitions[index];
    if (!partition) throw new Error(`event hub ${this.name} has no partition ${index}`);
    return partition;
  }

  /** Lets every reader of the partition deliver what has become visible. */
  wakeReaders(partition: Partition): void {
    for (const readers of partition.readers.values()) {
      for (const reader of readers) reader.deliver();
    }
  }
}
