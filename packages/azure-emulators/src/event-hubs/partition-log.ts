import type { EventPosition } from './event-position.js';
import { encodeEvents, type IncomingEvent, type StoredBatch } from './stored-events.js';

/** How much of a partition is retained. The oldest events go first; an absent bound does not apply. */
export interface RetentionBounds {
  readonly maxAgeMs?: number;
  /** At least this many events stay; whole batches are dropped, so up to one batch more. */
  readonly maxEvents?: number;
  readonly maxBytes?: number;
}

/** What a batch costs in memory beside its bytes: the batch, its buffer and its array of starts. */
const batchOverheadBytes = 400;

/**
 * The events of one partition: batches in order, with consecutive sequence numbers from 0 and byte offsets.
 *
 * An event is visible to readers once it is committed. Without a journal that is at once; with one, when it is durable, so
 * that no reader sees an event that a crash takes back.
 */
export class PartitionLog {
  /** Retained batches from `head` on; slots before it are empty until the array is shortened. */
  #batches: (StoredBatch | undefined)[] = [];
  #head = 0;
  /** Number of the batch in slot 0. */
  #slotBase = 0;
  #retained = 0;
  #nextSequence = 0;
  #nextOffset = 0;
  #committed = 0;
  #lastMs = 0;
  #lastDropped = { offset: 0, enqueuedMs: 0 };

  /** Sequence number of the oldest retained event; the next one's if there is none. */
  get beginSequence(): number {
    return this.#batches[this.#head]?.firstSequence ?? this.#nextSequence;
  }

  /** Sequence number behind the last visible event. */
  get endSequence(): number {
    return this.#committed;
  }

  get eventCount(): number {
    return Math.max(0, this.#committed - this.beginSequence);
  }

  get bytes(): number {
    return this.#retained;
  }

  get isEmpty(): boolean {
    return this.eventCount === 0;
  }

  /** The last visible event; undefined before the first one. */
  get lastEnqueued(): { readonly sequence: number; readonly offset: number; readonly enqueuedMs: number } | undefined {
    if (this.#committed === 0) return undefined;
    const sequence = this.#committed - 1;
    const batch = this.#batches[this.#slotOf(sequence)];
    if (!batch || batch.firstSequence > sequence) return { ...this.#lastDropped, sequence };
    const offset = batch.baseOffset + (batch.starts[sequence - batch.firstSequence] ?? 0);
    return { sequence, offset, enqueuedMs: batch.enqueuedMs };
  }

  /** Appends events that become visible with `commit`. */
  append(events: readonly IncomingEvent[], partitionKey: Buffer | undefined, nowMs: number): StoredBatch {
    const batch = encodeEvents(events, {
      firstSequence: this.#nextSequence,
      baseOffset: this.#nextOffset,
      enqueuedMs: Math.max(nowMs, this.#lastMs),
      partitionKey,
    });
    this.restore(batch);
    return batch;
  }

  /** Appends a batch that was encoded before, as a journal replays it. */
  restore(batch: StoredBatch): void {
    this.#batches.push(batch);
    this.#nextSequence = batch.firstSequence + batch.starts.length;
    this.#nextOffset = batch.baseOffset + batch.bytes.length;
    this.#lastMs = batch.enqueuedMs;
    this.#retained += batchBytes(batch);
  }

  /** Continues the numbering of a log whose events are all gone. */
  restoreEnd(sequence: number, offset: number, enqueuedMs: number): void {
    this.#nextSequence = sequence;
    this.#nextOffset = offset;
    this.#lastMs = enqueuedMs;
    this.#lastDropped = { offset, enqueuedMs };
  }

  /** The end of the log for `restoreEnd`. */
  get end(): { readonly sequence: number; readonly offset: number; readonly enqueuedMs: number } {
    return { sequence: this.#nextSequence, offset: this.#nextOffset, enqueuedMs: this.#lastMs };
  }

  /** Makes all events before the sequence number visible; by default all. Returns whether there are new ones. */
  commit(sequence: number = this.#nextSequence): boolean {
    if (sequence <= this.#committed) return false;
    this.#committed = sequence;
    return true;
  }

  /** Drops what is beyond the bounds. Returns the bytes freed. */
  trim(bounds: RetentionBounds, nowMs: number): number {
    const before = this.#retained;
    const oldest = bounds.maxAgeMs === undefined ? Number.NEGATIVE_INFINITY : nowMs - bounds.maxAgeMs;
    for (;;) {
      const batch = this.#batches[this.#head];
      const rest = this.#committed - this.beginSequence - (batch?.starts.length ?? 0);
      // Uncommitted events stay: their journal record is on its way.
      if (!batch || rest < 0) break;
      const tooOld = batch.enqueuedMs < oldest;
      const tooMany = bounds.maxEvents !== undefined && rest >= bounds.maxEvents;
      const tooLarge = bounds.maxBytes !== undefined && this.#retained > bounds.maxBytes && rest > 0;
      if (!tooOld && !tooMany && !tooLarge) break;
      this.#dropHead(batch);
    }
    return before - this.#retained;
  }

  /** Drops every visible event. Returns their number. */
  purge(): number {
    const count = this.eventCount;
    this.trim({ maxEvents: 0 }, 0);
    return count;
  }

  /**
   * Returns the sequence number of the first event at a position. A position behind the end belongs to an earlier life of the
   * hub (an emulator that restarted without persistence): it reads from the beginning, so that no event is skipped.
   */
  locate(position: EventPosition): number {
    switch (position.kind) {
      case 'earliest':
        return this.beginSequence;
      case 'latest':
        return this.#committed;
      case 'sequenceNumber': {
        const sequence = position.isInclusive ? position.value : position.value + 1;
        return sequence > this.#nextSequence ? this.beginSequence : Math.max(sequence, this.beginSequence);
      }
      case 'enqueuedTime':
        return this.#firstWhere((batch) => batch.enqueuedMs > position.afterMs)?.firstSequence ?? this.#committed;
      case 'offset':
        return this.#locateOffset(position.value, position.isInclusive);
    }
  }

  /** Batches from the one that holds the sequence number on, for readers and snapshots. */
  *batchesFrom(sequence: number): Iterable<StoredBatch> {
    for (let i = this.#slotOf(sequence); i < this.#batches.length; i += 1) {
      const batch = this.#batches[i];
      if (batch) yield batch;
    }
  }

  /** Position of a batch that stays the same while older ones are dropped. */
  batchNumber(sequence: number): number {
    return this.#slotBase + this.#slotOf(sequence);
  }

  /** Returns the batch by number: the oldest one if it was dropped, undefined behind the end. */
  batchAt(number: number): { readonly batch: StoredBatch; readonly number: number } | undefined {
    const slot = Math.max(this.#head, number - this.#slotBase);
    const batch = this.#batches[slot];
    return batch && { batch, number: this.#slotBase + slot };
  }

  #locateOffset(offset: number, isInclusive: boolean): number {
    if (offset > this.#nextOffset) return this.beginSequence;
    const wanted = isInclusive ? offset : offset + 1;
    const batch = this.#firstWhere((candidate) => candidate.baseOffset + (candidate.starts.at(-1) ?? 0) >= wanted);
    if (!batch) return this.#committed;
    const index = batch.starts.findIndex((start) => batch.baseOffset + start >= wanted);
    return batch.firstSequence + Math.max(0, index);
  }

  #dropHead(batch: StoredBatch): void {
    this.#lastDropped = { offset: batch.baseOffset + (batch.starts.at(-1) ?? 0), enqueuedMs: batch.enqueuedMs };
    this.#retained -= batchBytes(batch);
    this.#batches[this.#head] = undefined;
    this.#head += 1;
    if (this.#head < 1024 || this.#head * 2 < this.#batches.length) return;
    this.#batches.splice(0, this.#head);
    this.#slotBase += this.#head;
    this.#head = 0;
  }

  /** Slot of the batch with the sequence number, or of the first one after it. */
  #slotOf(sequence: number): number {
    return this.#search((batch) => batch.firstSequence + batch.starts.length > sequence);
  }

  #firstWhere(holds: (batch: StoredBatch) => boolean): StoredBatch | undefined {
    return this.#batches[this.#search(holds)];
  }

  /** Binary search: the condition is false for the older batches and true from some batch on. */
  #search(holds: (batch: StoredBatch) => boolean): number {
    let low = this.#head;
    let high = this.#batches.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const batch = this.#batches[middle];
      if (batch && !holds(batch)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Reads a partition in order, from a sequence number on. */
export class LogReader {
  #number: number;
  readonly #log: PartitionLog;
  #sequence: number;
  readonly #afterMs: number;

  /** Events that were not enqueued after `afterMs` are skipped. */
  constructor(log: PartitionLog, sequence: number, afterMs = -Infinity) {
    this.#afterMs = afterMs;
    this.#log = log;
    this.#sequence = sequence;
    this.#number = log.batchNumber(sequence);
  }

  /** Returns the next visible event, encoded for a consumer. Events dropped meanwhile are skipped. */
  next(): Buffer | undefined {
    for (;;) {
      const found = this.#log.batchAt(this.#number);
      if (!found) return undefined;
      const { batch } = found;
      this.#number = found.number;
      if (this.#sequence < batch.firstSequence) this.#sequence = batch.firstSequence;
      if (this.#sequence >= this.#log.endSequence) return undefined;
      const index = this.#sequence - batch.firstSequence;
      if (index >= batch.starts.length || batch.enqueuedMs <= this.#afterMs) {
        this.#number += 1;
        continue;
      }
      this.#sequence += 1;
      return batch.bytes.subarray(batch.starts[index], batch.starts[index + 1]);
    }
  }
}

function batchBytes(batch: StoredBatch): number {
  return batch.bytes.length + batch.starts.byteLength + batchOverheadBytes;
}
