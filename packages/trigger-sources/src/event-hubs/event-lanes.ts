import { createHash } from 'node:crypto';
import type { HubEvent } from './hub-client.js';
import type { EventOrder } from './event-hub-options.js';

/** Events that run together. The lane is occupied until `release`. */
export interface EventBatch {
  readonly lane: number;
  /** At least one, in the order of the log. */
  readonly events: readonly HubEvent[];
}

interface EventLanesOptions {
  readonly orderBy: EventOrder;
  /** Batches that run side by side. */
  readonly lanes: number;
  readonly maxBatchSize: number;
  readonly minBatchSize: number;
  /** How long an event waits for the `minBatchSize`. */
  readonly maxWaitMs: number;
}

interface Lane {
  readonly waiting: HubEvent[];
  /** Index of the next event in `waiting`: shifting an array of hundreds for each event is slow. */
  next: number;
  sinceMs: number;
  isBusy: boolean;
}

/**
 * The received events of one partition that wait for a run, and the rules by which they become batches. A lane runs one batch
 * at a time. With the order of the partition there is one lane. With the order of keys each key has its lane. Without an order
 * all lanes take from one queue.
 */
export class EventLanes {
  readonly #options: EventLanesOptions;
  readonly #lanes: readonly Lane[];
  #size = 0;

  constructor(options: EventLanesOptions) {
    this.#options = options;
    this.#lanes = Array.from({ length: options.lanes }, () => ({ waiting: [], next: 0, sinceMs: 0, isBusy: false }));
  }

  /** Events that wait. */
  get size(): number {
    return this.#size;
  }

  /** Enqueue time of the oldest event that waits. */
  get oldestAtMs(): number | undefined {
    const heads = this.#lanes.flatMap(({ waiting, next }) => waiting[next]?.enqueuedAtMs ?? []);
    return heads.length === 0 ? undefined : Math.min(...heads);
  }

  add(event: HubEvent, nowMs: number): void {
    const lane = this.#queueOf(event);
    if (lane.next === lane.waiting.length) lane.sinceMs = nowMs;
    lane.waiting.push(event);
    this.#size += 1;
  }

  /** Returns the next batch that may run, and occupies its lane; undefined if there is none now. */
  take(nowMs: number): EventBatch | undefined {
    for (const [index, lane] of this.#lanes.entries()) {
      const queue = this.#sourceOf(lane);
      if (lane.isBusy || !this.#isDue(queue, nowMs)) continue;
      lane.isBusy = true;
      const events = queue.waiting.slice(queue.next, queue.next + this.#options.maxBatchSize);
      queue.next += events.length;
      queue.sinceMs = nowMs;
      if (queue.next === queue.waiting.length || queue.next >= 1_024) {
        queue.waiting.splice(0, queue.next);
        queue.next = 0;
      }
      this.#size -= events.length;
      return { lane: index, events };
    }
    return undefined;
  }

  release({ lane }: EventBatch): void {
    const released = this.#lanes[lane];
    if (released) released.isBusy = false;
  }

  /** Returns the time until a batch is due although it is small; undefined if none waits for that. */
  dueInMs(nowMs: number): number | undefined {
    const waits = this.#lanes
      .filter((lane) => !lane.isBusy && this.#sourceOf(lane).next < this.#sourceOf(lane).waiting.length)
      .map((lane) => Math.max(0, this.#sourceOf(lane).sinceMs + this.#options.maxWaitMs - nowMs));
    return waits.length === 0 ? undefined : Math.min(...waits);
  }

  #isDue({ waiting, next, sinceMs }: Lane, nowMs: number): boolean {
    const size = waiting.length - next;
    if (size === 0) return false;
    return size >= this.#options.minBatchSize || nowMs - sinceMs >= this.#options.maxWaitMs;
  }

  #queueOf({ partitionKey, sequenceNumber }: HubEvent): Lane {
    const { orderBy, lanes } = this.#options;
    // Events without a key have no order among each other, so they are spread.
    const index =
      orderBy !== 'key' ? 0 : partitionKey === undefined ? sequenceNumber % lanes : laneOf(partitionKey, lanes);
    const lane = this.#lanes[index] ?? this.#lanes[0];
    if (!lane) throw new RangeError('a partition needs a lane');
    return lane;
  }

  #sourceOf(lane: Lane): Lane {
    return this.#options.orderBy === 'none' ? (this.#lanes[0] ?? lane) : lane;
  }
}

function laneOf(key: string, lanes: number): number {
  return createHash('sha1').update(key).digest().readUInt32BE(0) % lanes;
}
