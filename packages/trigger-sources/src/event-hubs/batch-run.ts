import { BackOff, sleep, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import type { Deliver, Settlement } from '../trigger-source.js';
import { afterBatch } from './after-batch.js';
import type { DeadLetterTarget, HubEvent } from './hub-client.js';
import type { FailurePolicy } from './event-hub-options.js';
import type { EventHubObservation } from './observations.js';
import { toEventDelivery, type DeliveryPlace } from './to-event-delivery.js';

export interface BatchRunParts {
  readonly functionName: string;
  readonly place: DeliveryPlace;
  readonly isBatch: boolean;
  readonly onFailure: FailurePolicy;
  readonly deadLetters: DeadLetterTarget | undefined;
  readonly deliver: Deliver;
  /** Resolves when deliveries are not paused, or when `signal` aborts. */
  readonly unpaused: (signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<EventHubObservation>;
}

const redeliveries = { firstMs: 50, maxMs: 30_000, factor: 2 };
const resends = { firstMs: 200, maxMs: 30_000, factor: 2 };

/** One batch from its first delivery until it is finished or its partition is no longer read. */
export class BatchRun {
  readonly #parts: BatchRunParts;
  readonly #events: readonly HubEvent[];
  readonly #lost = new AbortController();
  /** Aborts when the batch must not be delivered again. */
  readonly #noMore = new AbortController();
  #deliveryCount = 0;

  constructor(events: readonly HubEvent[], parts: BatchRunParts) {
    this.#events = events;
    this.#parts = parts;
  }

  get size(): number {
    return this.#events.length;
  }

  /** Resolves with true when the batch is finished, and with false if it must run elsewhere. Never rejects. */
  async run(): Promise<boolean> {
    const { clock } = this.#parts;
    const backOff = new BackOff(redeliveries, this.#parts);
    for (;;) {
      this.#deliveryCount += 1;
      const settlement = await this.#deliver();
      if (this.#lost.signal.aborted) return false;
      const action = afterBatch(settlement, this.#parts.onFailure);
      if (action.kind === 'advance') return this.#finished(action.failure);
      if (action.kind === 'dead-letter') return await this.#deadLetter(action.reason);
      const delayMs = action.delayMs ?? backOff.nextMs();
      this.#parts.observe({ kind: 'event-hub.redelivered', ...this.#about(), delayMs });
      await sleep(clock, delayMs, this.#noMore.signal).catch(() => undefined);
      await this.#parts.unpaused(this.#noMore.signal);
      if (this.#noMore.signal.aborted) return false;
    }
  }

  /** Lets the current delivery finish, and delivers the batch no more. */
  drain(): void {
    this.#noMore.abort();
  }

  /** Aborts the signal of the delivery. Its settlement has no effect any more. */
  lose(reason: Error): void {
    this.#noMore.abort();
    this.#lost.abort(reason);
  }

  async #deliver(): Promise<Settlement> {
    const { place, isBatch, deliver, observe } = this.#parts;
    const delivery = toEventDelivery({ place, events: this.#events, isBatch, deliveryCount: this.#deliveryCount });
    try {
      return await deliver(delivery, this.#lost.signal);
    } catch (error) {
      observe({ kind: 'event-hub.delivery-threw', ...this.#about(), error });
      return { kind: 'abandon' };
    }
  }

  #finished(failure: string | undefined): true {
    const { observe } = this.#parts;
    if (failure === undefined) observe({ kind: 'event-hub.completed', ...this.#about() });
    else observe({ kind: 'event-hub.passed-over', ...this.#about(), reason: failure });
    return true;
  }

  /** Sends until it succeeds: passing over the batch without a copy would lose it. */
  async #deadLetter(reason: string): Promise<boolean> {
    const { deadLetters, clock, observe } = this.#parts;
    if (!deadLetters) throw new Error('a batch cannot be dead-lettered without a hub for it');
    const target = deadLetters.name;
    const backOff = new BackOff(resends, this.#parts);
    while (!this.#lost.signal.aborted) {
      try {
        await deadLetters.send(this.#events, reason, this.#lost.signal);
        observe({ kind: 'event-hub.dead-lettered', ...this.#about(), target, reason });
        return true;
      } catch (error) {
        if (this.#noMore.signal.aborted) return false;
        observe({ kind: 'event-hub.dead-letter-failed', ...this.#about(), target, error });
        await sleep(clock, backOff.nextMs(), this.#noMore.signal).catch(() => undefined);
      }
    }
    return false;
  }

  #about() {
    const { functionName, place } = this.#parts;
    return {
      functionName,
      hub: place.hub,
      partitionId: place.partitionId,
      events: this.#events.length,
      firstSequenceNumber: this.#events[0]?.sequenceNumber ?? -1,
      deliveryCount: this.#deliveryCount,
    };
  }
}
