import type { StreamingMessage } from '@drover/function-rpc';
import type { MessageTarget } from '../workers/message-target.js';

/**
 * Delivers the messages of one worker to its current target, each exactly once and in order. Messages that arrive during a
 * cut-over are buffered and go to the new target first. Buffered log lines are bounded and dropped beyond the bound; responses
 * are never dropped, since their number is bounded by the requests that were sent.
 */
export class WorkerRoute {
  readonly workerId: string;
  readonly #maxHeldLogs: number;
  readonly #onDropped: (workerId: string) => void;
  #target: MessageTarget | undefined;
  /** Messages without a target, or behind messages that are being delivered. */
  #held: StreamingMessage[] = [];
  #heldLogs = 0;
  #isDelivering = false;

  constructor(workerId: string, maxHeldLogs: number, onDropped: (workerId: string) => void) {
    this.workerId = workerId;
    this.#maxHeldLogs = maxHeldLogs;
    this.#onDropped = onDropped;
  }

  get target(): MessageTarget | undefined {
    return this.#target;
  }

  pass(message: StreamingMessage): void {
    if (message.kind === 'rpcLog') {
      if (this.#heldLogs >= this.#maxHeldLogs) return this.#onDropped(this.workerId);
      this.#heldLogs += 1;
    }
    this.#held.push(message);
    this.#deliver();
  }

  /** Buffers messages from now on. */
  hold(): void {
    this.#target = undefined;
  }

  /** Delivers to `target` from now on, buffered messages first. */
  turnTo(target: MessageTarget): void {
    this.#target = target;
    this.#deliver();
  }

  /** A target may add messages or call `hold` while it receives one: the loop handles both. */
  #deliver(): void {
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    try {
      let index = 0;
      for (; this.#target && index < this.#held.length; index += 1) {
        const message = this.#held[index];
        if (message?.kind === 'rpcLog') this.#heldLogs -= 1;
        if (message) this.#target.receive(this.workerId, message);
      }
      this.#held = index === this.#held.length ? [] : this.#held.slice(index);
    } finally {
      this.#isDelivering = false;
    }
  }
}
