import type { WorkQuestion, WorkSource } from '../notifications/work-notes.js';
import type { EventHub, Partition } from './event-hub.js';
import type { EventHubs } from './event-hubs.js';

interface Reader {
  readonly positions: ReadonlyMap<string, number>;
  readonly createdAtMs: number | undefined;
  /** Where partitions without a position are read from; a number is the time of the first event. */
  readonly initial: 'start' | 'end' | number;
}

/** Answers whether a hub has events behind the positions of a consumer group. */
export class EventHubsWork implements WorkSource {
  readonly service = 'event-hubs';
  readonly #hubs: EventHubs;

  constructor(hubs: EventHubs) {
    this.#hubs = hubs;
  }

  question(fields: Readonly<Record<string, unknown>>): WorkQuestion | undefined {
    const { entity, positions, createdAtMs, initial } = fields;
    if (typeof entity !== 'string' || !this.#hubs.find(entity)) return undefined;
    const isInitial = initial === 'start' || initial === 'end' || typeof initial === 'number';
    if (!isInitial || typeof positions !== 'object' || positions === null) return undefined;
    const numbers = Object.entries(positions).filter(
      (entry): entry is [string, number] => typeof entry[1] === 'number',
    );
    const reader: Reader = {
      positions: new Map(numbers),
      createdAtMs: typeof createdAtMs === 'number' ? createdAtMs : undefined,
      initial,
    };
    return { entity, look: () => this.#hasWork(entity, reader) };
  }

  #hasWork(name: string, reader: Reader): boolean {
    const hub = this.#hubs.find(name);
    return hub !== undefined && hub.partitions.some((partition) => this.#isBehind(hub, partition, reader));
  }

  #isBehind(hub: EventHub, partition: Partition, { positions, createdAtMs, initial }: Reader): boolean {
    this.#hubs.trim(partition);
    const { log } = partition;
    const position = positions.get(partition.id);
    // Positions of a hub that was deleted, or of an emulator that has forgotten its events, mean nothing here.
    const isFormer = createdAtMs !== undefined && createdAtMs !== hub.createdMs;
    if (position !== undefined && !isFormer && position < log.endSequence)
      return log.endSequence > Math.max(position + 1, log.beginSequence);
    // A reader that begins at the end has to write its position down first.
    if (initial === 'end') return true;
    if (initial === 'start') return !log.isEmpty;
    return !log.isEmpty && (log.lastEnqueued?.enqueuedMs ?? 0) > initial;
  }
}
