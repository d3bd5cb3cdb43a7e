import type { AcceptedCall, TenantId } from '@drover/contracts';
import type { FunctionDefinition } from '@drover/dispatchers';
import { partitionOf } from '@drover/ownership';
import type { FunctionMetrics } from './function-metrics.js';
import type { LiveExecution } from './live-execution.js';
import { MeasuredFunctions } from './measured-functions.js';
import { Deque } from './queues/deque.js';
import type { RingMember } from './queues/fair-ring.js';

type QueueClosing = 'removed' | 'moved' | 'absent';

/** Weight of the newest duration or interval in the average: about the last ten count. */
const newestWeight = 0.1;

/**
 * Queue, slots and metrics of one generation of a function on the replica that owns it. A function that is removed and registered again
 * gets another queue, so that a late answer of the old generation does not touch the new one.
 */
export class FunctionQueue implements RingMember {
  readonly tenantId: TenantId;
  readonly name: string;
  readonly generation: number;
  readonly partition: number;
  readonly metrics: FunctionMetrics;
  /** In the order of acceptance. Executions that ended while they waited are still in it and are skipped. */
  readonly entries = new Deque<LiveExecution>();
  /** Concurrency keys that an execution holds, with the entries that wait for them, in the order of acceptance. */
  readonly heldKeys = new Map<string, Deque<LiveExecution>>();
  /** Of the newest revision. */
  definition: FunctionDefinition;
  isInRing = false;
  /** Places that are taken, by executions in the queue and by those that are being accepted. */
  waiting = 0;
  /** Slots that attempts hold. */
  inFlight = 0;
  /** Set while no attempt can be made, because what runs the function refuses all of them. Cancels the timer that ends it. */
  endHold: (() => void) | undefined;
  /** Monotonic time at which the hold ends by itself. */
  heldUntilMs = 0;
  /**
   * Set when no call is admitted any more: the function was removed, another replica owns it, or no version of its application has it at
   * the moment.
   */
  closed: QueueClosing | undefined;
  #averageMs = 0;
  /** Average interval between two starts while entries wait: the inverse of the drain rate. */
  #drainMs = 0;
  #lastStartMs = 0;
  /** Entries were left in the queue by the last start, so the next one measures how fast it drains. */
  #isDraining = false;

  constructor(definition: FunctionDefinition, metrics: FunctionMetrics) {
    this.metrics = metrics;
    this.definition = definition;
    this.tenantId = definition.tenantId;
    this.name = definition.name;
    this.generation = definition.generation;
    this.partition = partitionOf(definition.tenantId, definition.name);
  }

  get hasRoom(): boolean {
    return this.waiting < this.definition.queueSize;
  }

  /** Whether there is an entry and a free slot, and attempts can be made. */
  get isReady(): boolean {
    const hasWork = this.entries.size > 0 && this.inFlight < this.definition.concurrency;
    return hasWork && this.endHold === undefined && !this.isPaused;
  }

  /** Whether a caller has paused the function: calls wait. */
  get isPaused(): boolean {
    return this.definition.queueControl?.state === 'paused';
  }

  /** Whether the function is gone for good for executions of this kind: a caller does not wait for a function to return. */
  isRemovedFor({ kind }: AcceptedCall): boolean {
    return this.closed === 'removed' || (this.closed === 'absent' && kind === 'sync');
  }

  /** Removes and returns the next execution that still waits. */
  dequeue(): LiveExecution | undefined {
    for (let next = this.entries.shift(); next; next = this.entries.shift()) {
      // Its place was released when it was withdrawn or dropped.
      if (next.state !== 'queued') continue;
      if (next.accepted.concurrencyKey !== undefined && !this.#acquireKey(next, next.accepted.concurrencyKey)) continue;
      this.waiting -= 1;
      return next;
    }
    return undefined;
  }

  /** Lets the next entry with the key of an execution that is over go to the head of the queue. */
  releaseKey(execution: LiveExecution): void {
    const { concurrencyKey } = execution.accepted;
    if (!execution.holdsKey || concurrencyKey === undefined) return;
    execution.holdsKey = false;
    const waiting = this.heldKeys.get(concurrencyKey);
    if (!waiting) return;
    this.heldKeys.delete(concurrencyKey);
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      if (next.state !== 'queued') continue;
      // It holds the key while it is on its way, so that no later entry overtakes it.
      next.holdsKey = true;
      this.heldKeys.set(concurrencyKey, waiting);
      return this.entries.unshift(next);
    }
  }

  /** Returns false when another execution holds the key: the entry waits for it. */
  #acquireKey(execution: LiveExecution, key: string): boolean {
    if (execution.holdsKey) return true;
    const waiting = this.heldKeys.get(key);
    if (waiting) {
      waiting.push(execution);
      return false;
    }
    execution.holdsKey = true;
    this.heldKeys.set(key, new Deque());
    return true;
  }

  recordStart(nowMs: number): void {
    if (this.#isDraining) this.#drainMs = averaged(this.#drainMs, nowMs - this.#lastStartMs);
    this.#lastStartMs = nowMs;
    this.#isDraining = this.entries.size > 0;
  }

  recordDuration(ms: number): void {
    this.#averageMs = averaged(this.#averageMs, ms);
  }

  /** Estimated time until a full queue has a free place, which is until the next start. */
  timeToRoomMs(nowMs: number): number {
    const heldMs = this.endHold ? Math.max(0, this.heldUntilMs - nowMs) : 0;
    const elapsedMs = nowMs - this.#lastStartMs;
    const intervalMs = this.#drainMs || this.#averageMs / this.definition.concurrency;
    // Before anything is measured, the best guess is that what runs has run for half of its time.
    if (intervalMs === 0) return heldMs + elapsedMs;
    return heldMs + (elapsedMs < intervalMs ? intervalMs - elapsedMs : intervalMs);
  }

  /** Estimated wait of a call that is admitted now; 0 until an attempt has ended. */
  get estimatedWaitMs(): number {
    return (this.waiting * this.#averageMs) / this.definition.concurrency;
  }
}

function averaged(average: number, newest: number): number {
  return average === 0 ? newest : average + newestWeight * (newest - average);
}

/** The open queues, one per function. A closed queue lives on in its executions only. */
export class FunctionQueues {
  readonly #queues = new Map<string, FunctionQueue>();
  readonly measured = new MeasuredFunctions();

  get size(): number {
    return this.#queues.size;
  }

  get(tenantId: TenantId, name: string): FunctionQueue | undefined {
    return this.#queues.get(keyOf(tenantId, name));
  }

  values(): IterableIterator<FunctionQueue> {
    return this.#queues.values();
  }

  open(definition: FunctionDefinition): FunctionQueue {
    const queue = new FunctionQueue(definition, this.measured.open(definition));
    this.#queues.set(keyOf(queue.tenantId, queue.name), queue);
    return queue;
  }

  close(queue: FunctionQueue, reason: QueueClosing): void {
    queue.closed = reason;
    const key = keyOf(queue.tenantId, queue.name);
    if (this.#queues.get(key) !== queue) return;
    this.#queues.delete(key);
    this.measured[reason === 'moved' ? 'moved' : 'remove'](queue.tenantId, queue.name);
  }
}

function keyOf(tenantId: TenantId, name: string): string {
  return `${tenantId}/${name}`;
}
