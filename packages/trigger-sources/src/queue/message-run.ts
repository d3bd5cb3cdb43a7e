import { defineStates } from '@drover/contracts';
import type { Deliver, Settlement } from '../trigger-source.js';
import { decodeBody } from './message-body.js';
import { MessageLease } from './message-lease.js';
import type { QueueOptions } from './queue-options.js';
import { aboutMessage, settleMessage, type SettlingIo } from './settle-message.js';
import { afterRun, beforeRun, type MessageAction } from './settlement.js';
import type { QueueMessage } from './storage-queue.js';
import { toDelivery } from './to-delivery.js';

/**
 * - waiting: leased, not started
 * - running: delivered; its settlement is awaited
 * - settling: its settlement is sent to the service
 * - releasing: it is made visible again; a later settlement is ignored
 * - finished: settled, released or lost
 */
export const queueMessageStates = defineStates('queue message', {
  waiting: ['running', 'settling', 'releasing'],
  running: ['settling', 'releasing'],
  settling: ['finished'],
  releasing: ['finished'],
  finished: [],
});

/** Shared by all messages of a listener: one object, since copies of it by spreading cost 10 µs per message. */
export interface MessageRunIo extends SettlingIo {
  readonly options: QueueOptions;
  readonly deliver: Deliver;
  /** The body is not base64, although the options say so. */
  readonly onUnexpectedBody: (message: QueueMessage) => void;
  /** The message becomes visible again after this delay. */
  readonly onReturn: (delayMs: number) => void;
}

/** One message from its receipt until it is settled, released or lost. */
export class MessageRun {
  readonly #io: MessageRunIo;
  readonly #message: QueueMessage;
  readonly #lease: MessageLease;
  readonly #state = queueMessageStates.start('waiting');
  #finish: () => void = () => undefined;
  readonly finished = new Promise<void>((resolve) => (this.#finish = resolve));

  /** `askedAtMs`: monotonic time of the request that received it. */
  constructor(io: MessageRunIo, message: QueueMessage, askedAtMs: number) {
    this.#io = io;
    this.#message = message;
    this.#lease = new MessageLease(io, message, askedAtMs, (error) =>
      io.observe({ kind: 'queue.lease-lost', ...this.#about(), error }),
    );
  }

  /** Delivers the message if it is waiting. Never rejects. */
  async start(): Promise<void> {
    if (!this.#state.is('waiting')) return;
    const message = this.#message;
    const { options, clock } = this.#io;
    const before = beforeRun(message, options);
    if (before.kind !== 'run') return this.#settle(before);
    this.#state.move('running');
    if (message.dequeueCount > 1) this.#io.observe({ kind: 'queue.redelivered', ...this.#about() });
    const settlement = await this.#deliver();
    if (this.#state.is('running')) await this.#settle(afterRun(settlement, message, options, clock.now()));
  }

  /** Makes the message visible again at once. Resolves when it is finished, also if it was being settled. */
  async release(): Promise<void> {
    if (this.#state.is('waiting', 'running')) {
      const started = this.#state.is('running');
      this.#state.move('releasing');
      this.#lease.cancel(new Error('the listener stops and releases this message'));
      await this.#makeVisible(started);
      this.#end();
    }
    await this.finished;
  }

  /** Releases the message if it is waiting. */
  async releaseUnstarted(): Promise<void> {
    if (this.#state.is('waiting')) await this.release();
  }

  async #deliver(): Promise<Settlement> {
    const message = this.#message;
    const { options, deliver, onUnexpectedBody, observe } = this.#io;
    const body = decodeBody(message.text, options.messageEncoding);
    if (!body.asExpected) onUnexpectedBody(message);
    try {
      return await deliver(toDelivery(message, body, options), this.#lease.lost);
    } catch (error) {
      observe({ kind: 'queue.delivery-threw', ...this.#about(), error });
      return { kind: 'abandon' };
    }
  }

  async #settle(action: MessageAction): Promise<void> {
    this.#state.move('settling');
    const isTaken = await settleMessage(action, this.#message, this.#lease, this.#io);
    if (isTaken && action.kind === 'hide') this.#io.onReturn(action.forMs);
    this.#end();
  }

  /** One attempt: a stopping listener does not wait for an unavailable service, and the lease expires by itself. */
  async #makeVisible(started: boolean): Promise<void> {
    const { queue, cut, observe } = this.#io;
    const handle = await this.#lease.end();
    if (!handle) return;
    try {
      await queue.hide(handle, 0, cut);
      observe({ kind: 'queue.released', ...this.#about(), started });
    } catch (error) {
      observe({ kind: 'queue.settlement-failed', ...this.#about(), action: 'release', error });
    }
  }

  #about() {
    return aboutMessage(this.#io, this.#message);
  }

  #end(): void {
    this.#state.move('finished');
    this.#finish();
  }
}
