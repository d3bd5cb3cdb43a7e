import type { StreamingMessage } from '@drover/function-rpc';
import type { MessageTarget } from '../workers/message-target.js';

/**
 * The way of one worker's messages to its job host. Messages leave in the order in which they came, each exactly once: those
 * that come before a switch is complete wait here, and go to the new target before anything that comes later.
 *
 * Whoever floods us with logs while nobody takes them loses logs, which are counted; answers are never dropped: there are
 * only as many of them as we asked questions.
 */
export class WorkerRoute {
  readonly workerId: string;
  readonly #maxHeldLogs: number;
  readonly #onDropped: (workerId: string) => void;
  #target: MessageTarget | undefined;
  /** Came while there was no target, or before those that came earlier were through. */
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

  /** From now on messages wait. */
  hold(): void {
    this.#target = undefined;
  }

  /** From now on they go there, those that waited first. */
  turnTo(target: MessageTarget): void {
    this.#target = target;
    this.#deliver();
  }

  /** A target may send more our way, or hold us, while it takes one: the loop below sees both. */
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
