import { setMaxListeners } from 'node:events';
import { defineStates } from '@drover/contracts';
import type { Clock, Observe, Randomness } from '@drover/service-kit';
import { queueUnavailable } from '../errors.js';
import type { Backlog, Deliver, TriggerListener } from '../trigger-source.js';
import { measureQueue } from './measure-queue.js';
import { MessageRun } from './message-run.js';
import type { QueueObservation } from './observations.js';
import type { QueueOptions } from './queue-options.js';
import { QueueReceiver } from './queue-receiver.js';
import type { QueueWakeups } from './queue-wakeups.js';
import { requestTimeoutMs, untilAborted, withDeadline } from './requests.js';
import type { QueueAccount, QueueMessage, StorageQueue } from './storage-queue.js';

/**
 * - created: asks for nothing yet
 * - listening: asks for messages whenever there is room, and hands them over
 * - paused: asks for nothing; what had been asked for waits, and stays ours
 * - draining: takes nothing more; what runs comes to its end, what waited is given back
 * - stopped: everything is given back
 */
export const queueListenerStates = defineStates('queue listener', {
  created: ['listening', 'stopped'],
  listening: ['paused', 'draining', 'stopped'],
  paused: ['listening', 'draining', 'stopped'],
  draining: ['stopped'],
  stopped: [],
});

interface QueueListenerOptions {
  readonly functionName: string;
  readonly account: QueueAccount;
  readonly options: QueueOptions;
  readonly deliver: Deliver;
  /** Shared with the outputs of this process. */
  readonly wakeups: QueueWakeups;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<QueueObservation>;
}

/** How long `stop` may take to give messages back. */
const stopWithinMs = 5_000;

/** Takes messages from one storage queue for one function. */
export class QueueListener implements TriggerListener {
  readonly name: string;
  readonly #options: QueueListenerOptions;
  readonly #queue: StorageQueue;
  readonly #receiver: QueueReceiver;
  readonly #state;
  /** Received and not finished: never more than batchSize + newBatchThreshold. */
  readonly #inHand = new Set<MessageRun>();
  readonly #closing = new AbortController();
  readonly #cut = new AbortController();
  readonly broken: Promise<unknown>;
  #break: (error: unknown) => void = () => undefined;
  #receiving: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;
  #saidNotBase64 = false;

  constructor(listenerOptions: QueueListenerOptions) {
    this.#options = listenerOptions;
    this.broken = new Promise((resolve) => (this.#break = resolve));
    const { functionName, account, options, observe } = listenerOptions;
    this.name = `queue trigger ${functionName}`;
    this.#queue = account.queue(options.queueName);
    setMaxListeners(0, this.#cut.signal); // one for each request under way
    this.#state = queueListenerStates.start('created', ({ to }) =>
      observe({ kind: 'queue.listener', functionName, queue: this.#queue.name, state: to }),
    );
    this.#receiver = new QueueReceiver({
      ...listenerOptions,
      queue: this.#queue,
      cut: this.#cut.signal,
      hasRoom: () => this.#state.is('listening') && this.#inHand.size <= options.newBatchThreshold,
      take: (messages, askedAtMs) => this.#take(messages, askedAtMs),
    });
  }

  /** Does not wait for the service: when it is away, or the queue missing, this listener waits for it. */
  async start(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#state.move('listening');
    this.#receiving = this.#receiver.run(this.#closing.signal).catch((error: unknown) => this.#break(error));
  }

  pause(): void {
    if (this.#state.is('listening')) this.#state.move('paused');
  }

  resume(): void {
    if (!this.#state.is('paused')) return;
    this.#state.move('listening');
    for (const run of this.#inHand) void run.start();
    this.#receiver.roomMade();
  }

  async drain(deadline: AbortSignal): Promise<void> {
    if (this.#state.is('listening', 'paused')) {
      this.#state.move('draining');
      this.#closing.abort();
      for (const run of this.#inHand) void run.releaseUnstarted();
    }
    await untilAborted(this.#allFinished(), deadline);
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /** Works before the start, too: whoever only measures need not listen. */
  async measure(signal: AbortSignal): Promise<Backlog> {
    const { clock } = this.#options;
    const own = { now: clock.now(), ownInFlight: this.#inHand.size };
    try {
      return await withDeadline(clock, requestTimeoutMs, signal, (limited) => measureQueue(this.#queue, own, limited));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw queueUnavailable({ queue: this.#queue.name, operation: 'measure', reason }, error);
    }
  }

  async #stop(): Promise<void> {
    this.#state.move('stopped');
    this.#closing.abort();
    const cut = (): void => this.#cut.abort(new Error('the listener was stopped'));
    const cancel = this.#options.clock.after(stopWithinMs, cut);
    for (const run of this.#inHand) void run.release();
    await this.#allFinished();
    cancel();
  }

  async #allFinished(): Promise<void> {
    await this.#receiving;
    await Promise.all([...this.#inHand].map((run) => run.finished));
  }

  #take(messages: readonly QueueMessage[], askedAtMs: number): void {
    const { functionName, observe } = this.#options;
    observe({ kind: 'queue.received', functionName, queue: this.#queue.name, messages: messages.length });
    for (const message of messages) {
      const run = new MessageRun({
        ...this.#options,
        queue: this.#queue,
        cut: this.#cut.signal,
        message,
        askedAtMs,
        onUnexpectedBody: () => this.#sayNotBase64(message),
        onReturn: (delayMs) => this.#receiver.expect(delayMs),
      });
      this.#inHand.add(run);
      void run.finished.then(() => {
        this.#inHand.delete(run);
        this.#receiver.roomMade();
      });
      if (this.#state.is('listening')) void run.start();
      else if (!this.#state.is('paused')) void run.release();
    }
  }

  #sayNotBase64({ id, dequeueCount }: QueueMessage): void {
    if (this.#saidNotBase64) return;
    this.#saidNotBase64 = true;
    const { functionName, observe } = this.#options;
    const about = { functionName, queue: this.#queue.name, messageId: id, deliveryCount: dequeueCount };
    observe({ kind: 'queue.not-base64', ...about });
  }
}
