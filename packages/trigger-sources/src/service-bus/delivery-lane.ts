import type { Clock } from '@drover/service-kit';
import type { BusMessageLock } from './bus-message-lock.js';
import type { BatchLimits } from './service-bus-options.js';

interface DeliveryLaneOptions {
  /** Deliveries that run at the same time. */
  readonly concurrency: () => number;
  /** Undefined: one message per delivery. */
  readonly batch: BatchLimits | undefined;
  readonly clock: Clock;
  /** False while the listener is paused. */
  readonly isOpen: () => boolean;
  /** Runs one delivery. Resolves when its function has ended. Must not reject. */
  readonly run: (locks: readonly BusMessageLock[]) => Promise<void>;
  /** Called when a delivery has ended and no message waits or runs. */
  readonly onIdle?: () => void;
}

/** A batch that is not full waits this long for messages that are on their way, again for each that comes. */
const quietMs = 1;
/** But no longer than this. */
const longestGatherMs = 20;

/** What a lane does next: starts a delivery of `size` messages, or looks again after `waitMs`. */
type LaneStep = { readonly size: number } | { readonly waitMs: number };

interface LaneView {
  readonly waiting: number;
  /** How long the oldest message waits. */
  readonly oldestMs: number;
  /** How long no message has come. */
  readonly quietForMs: number;
}

/** Decides about the next batch of a lane with at least one message and a free place. */
export function nextBatch({ waiting, oldestMs, quietForMs }: LaneView, { max, min, maxWaitMs }: BatchLimits): LaneStep {
  if (waiting >= max) return { size: max };
  if (waiting < min && oldestMs < maxWaitMs) return { waitMs: maxWaitMs - oldestMs };
  if (quietForMs < quietMs && oldestMs < longestGatherMs) return { waitMs: quietMs };
  return { size: waiting };
}

/**
 * Returns how many of the first messages make a batch of at most `size`: after each failed delivery half as many, so that a
 * message that always fails ends up alone and takes no others with it to the dead letters.
 */
export function batchAfterFailures(deliveryCounts: readonly number[], size: number, max: number): number {
  let most = size;
  for (let at = 0; at < most; at += 1) {
    const failures = Math.min(30, (deliveryCounts[at] ?? 1) - 1);
    const limit = Math.max(1, Math.floor(max / 2 ** failures));
    most = Math.min(most, Math.max(at, limit));
  }
  return Math.max(1, most);
}

/**
 * Messages of one order: all of an entity, or those of one session. Starts deliveries in the order of arrival, as many at a
 * time as allowed, each with one message or with a batch.
 */
export class DeliveryLane {
  readonly #options: DeliveryLaneOptions;
  #waiting: BusMessageLock[] = [];
  #running = 0;
  #lastArrivalMs = 0;
  #cancelTimer: (() => void) | undefined;
  #timerAtMs = 0;

  constructor(options: DeliveryLaneOptions) {
    this.#options = options;
  }

  get isIdle(): boolean {
    return this.#running === 0 && this.#waiting.length === 0;
  }

  push(locks: readonly BusMessageLock[]): void {
    for (const lock of locks) {
      this.#waiting.push(lock);
      lock.onGone = this.#forget;
    }
    this.#lastArrivalMs = locks.at(-1)?.receivedAtMs ?? this.#lastArrivalMs;
    this.proceed();
  }

  /** Starts what may start. Called when the listener resumes, too. */
  proceed(): void {
    const { concurrency, isOpen } = this.#options;
    while (this.#waiting.length > 0 && this.#running < concurrency() && isOpen()) {
      const step = this.#nextStep();
      if ('waitMs' in step) return this.#waitFor(step.waitMs);
      this.#start(step.size === 1 ? [this.#waiting.shift()] : this.#waiting.splice(0, step.size));
    }
  }

  /** Removes and returns the messages that have not started. */
  takeWaiting(): readonly BusMessageLock[] {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const taken = this.#waiting;
    this.#waiting = [];
    return taken;
  }

  #nextStep(): LaneStep {
    const { batch, clock } = this.#options;
    if (!batch) return { size: 1 };
    const nowMs = clock.monotonicMs();
    const oldestMs = nowMs - (this.#waiting[0]?.receivedAtMs ?? nowMs);
    const quietForMs = nowMs - this.#lastArrivalMs;
    const step = nextBatch({ waiting: this.#waiting.length, oldestMs, quietForMs }, batch);
    if ('waitMs' in step) return step;
    const counts = this.#waiting.slice(0, step.size).map(({ message }) => message.deliveryCount);
    return { size: batchAfterFailures(counts, step.size, batch.max) };
  }

  /** Looks again after `waitMs`, unless it does so earlier anyway. */
  #waitFor(waitMs: number): void {
    const atMs = this.#options.clock.monotonicMs() + waitMs;
    if (this.#cancelTimer && this.#timerAtMs <= atMs) return;
    this.#cancelTimer?.();
    this.#timerAtMs = atMs;
    this.#cancelTimer = this.#options.clock.after(waitMs, () => {
      this.#cancelTimer = undefined;
      this.proceed();
    });
  }

  #start(taken: readonly (BusMessageLock | undefined)[]): void {
    const locks = taken.filter((lock) => lock !== undefined);
    this.#running += 1;
    void this.#options.run(locks).then(() => {
      this.#running -= 1;
      this.proceed();
      if (this.isIdle) this.#options.onIdle?.();
    });
  }

  readonly #forget = (lock: BusMessageLock): void => {
    this.#waiting = this.#waiting.filter((other) => other !== lock);
  };
}
