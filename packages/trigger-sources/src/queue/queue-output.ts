import { setMaxListeners } from 'node:events';
import { BackOff, sleep, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import { queueUnavailable } from '../errors.js';
import type { OutputMessage, OutputTarget } from '../trigger-source.js';
import { encodeBody } from './message-body.js';
import type { QueueObservation } from './observations.js';
import type { QueueOutputOptions } from './queue-options.js';
import type { SourceWakeups } from '../source-wakeups.js';
import { requestTimeoutMs, withDeadline } from '../requests.js';
import { failureOf, type QueueAccount, type StorageQueue } from './storage-queue.js';
import { sendCreating } from './send-creating.js';

interface QueueOutputTargetOptions {
  readonly functionName: string;
  readonly account: QueueAccount;
  readonly options: QueueOutputOptions;
  /** Notifies the listeners of this process. */
  readonly wakeups: SourceWakeups;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<QueueObservation>;
}

/** Concurrent requests: the service takes one message per request and keeps no order. */
const concurrency = 16;
const retries = { firstMs: 100, maxMs: 5_000, factor: 2 };
const maxAttempts = 5;
/** Time limit of one `send`, all messages together. */
const sendTimeoutMs = 600_000;

/**
 * Sends to one storage queue and creates it if it is missing. If `send` fails, some messages may have been stored: delivery is
 * at least once.
 */
export class QueueOutput implements OutputTarget {
  readonly #options: QueueOutputTargetOptions;
  readonly #queue: StorageQueue;

  constructor(options: QueueOutputTargetOptions) {
    this.#options = options;
    this.#queue = options.account.queue(options.options.queueName);
  }

  async send(messages: readonly OutputMessage[], signal: AbortSignal): Promise<void> {
    const { functionName, options, wakeups, clock, observe } = this.#options;
    // All bodies are encoded before the first is sent, so that an invalid one fails the whole call.
    const texts = messages.map(({ body }) => encodeBody(body, options.messageEncoding, this.#queue.name));
    if (texts.length === 0) return;
    let isAwaited = false;
    try {
      const sending = withDeadline(clock, sendTimeoutMs, signal, (limited) => this.#sendAll(texts, limited));
      // The request is on its way: a receive that follows it finds the message, and need not wait for the response to it.
      isAwaited = this.#queue.isNear === true && wakeups.announce(this.#queue.address);
      await sending;
      observe({ kind: 'queue.sent', functionName, queue: this.#queue.name, messages: messages.length });
    } finally {
      wakeups.wake(this.#queue.address);
    }
    // The message may be here already: its function starts before the end of this one is reported, which takes longer. The first
    // turn ends this read from sockets, the second one follows the next.
    for (let turns = isAwaited ? 2 : 0; turns > 0; turns -= 1) await new Promise((resolve) => setImmediate(resolve));
  }

  async #sendAll(texts: readonly string[], signal: AbortSignal): Promise<void> {
    setMaxListeners(0, signal); // one for each request in flight
    const [first = '', ...waiting] = texts;
    // The first message alone, so that a missing queue is created once.
    await this.#sendOne(first, signal);
    const sendWaiting = async (): Promise<void> => {
      for (let text = waiting.shift(); text !== undefined; text = waiting.shift()) await this.#sendOne(text, signal);
    };
    const outcomes = await Promise.allSettled(
      Array.from({ length: Math.min(concurrency, waiting.length) }, sendWaiting),
    );
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }

  async #sendOne(text: string, signal: AbortSignal): Promise<void> {
    const { clock, randomness, observe, functionName } = this.#options;
    const backOff = new BackOff(retries, { clock, randomness });
    for (;;) {
      try {
        const isNew = await withDeadline(clock, requestTimeoutMs, signal, (limited) =>
          sendCreating(this.#queue, { text, keep: 'by-default' }, limited),
        );
        if (isNew) observe({ kind: 'queue.created', functionName, queue: this.#queue.name });
        return;
      } catch (error) {
        signal.throwIfAborted();
        const failure = failureOf(error);
        const mayHelp = failure === 'unavailable' || failure === 'throttled';
        if (!mayHelp || backOff.failures + 1 >= maxAttempts) throw this.#failed(error);
        await sleep(clock, backOff.nextMs(), signal);
      }
    }
  }

  #failed(error: unknown): Error {
    const reason = error instanceof Error ? error.message : String(error);
    return queueUnavailable({ queue: this.#queue.name, operation: 'send', reason }, error);
  }
}
