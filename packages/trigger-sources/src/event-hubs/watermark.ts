import type { HubEvent } from './hub-client.js';

/** The last event up to which everything is finished. */
export interface FinishedUpTo {
  readonly sequenceNumber: number;
  readonly offset: string;
}

/**
 * Tracks which received events of a partition are finished. Batches that run side by side finish in any order; the watermark
 * never passes an event that is not finished, so that a checkpoint never does.
 */
export class Watermark {
  /** Received and not yet below the watermark, in the order of the log. */
  #events: HubEvent[] = [];
  #next = 0;
  #reached: FinishedUpTo | undefined;

  /** Undefined until the first event is finished. */
  get reached(): FinishedUpTo | undefined {
    return this.#reached;
  }

  received(event: HubEvent): void {
    this.#events.push(event);
  }

  finish(events: readonly HubEvent[]): void {
    for (const event of events) event.isFinished = true;
    let last: HubEvent | undefined;
    for (let event = this.#events[this.#next]; event?.isFinished; event = this.#events[this.#next]) {
      last = event;
      this.#next += 1;
    }
    if (!last) return;
    this.#reached = { sequenceNumber: last.sequenceNumber, offset: last.offset };
    // Not for each batch: moving the rest of the array costs more than keeping a few finished events.
    if (this.#next < 1_024 && this.#next < this.#events.length) return;
    this.#events = this.#events.slice(this.#next);
    this.#next = 0;
  }
}
