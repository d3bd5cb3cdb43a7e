import { setMaxListeners } from 'node:events';
import { defineStates } from '@drover/contracts';
import type { Clock, Observe, Randomness } from '@drover/service-kit';
import { ArrivalRate } from '../arrival-rate.js';
import { queueUnavailable } from '../errors.js';
import type { Backlog, Deliver, TriggerListener } from '../trigger-source.js';
import { measureQueue } from './measure-queue.js';
import { MessageRun, type MessageRunIo } from './message-run.js';
import type { QueueObservation } from './observations.js';
import type { QueueOptions } from './queue-options.js';
import { QueueReceiver } from './queue-receiver.js';
import type { SourceWakeups } from '../source-wakeups.js';
import { requestTimeoutMs, untilAborted, withDeadline } from '../requests.js';
import type { QueueAccount, QueueMessage, StorageQueue } from './storage-queue.js';

/**
 * - created: not started
 * - listening: requests messages while there is capacity, and delivers them
 * - paused: requests nothing; messages that arrive are held with their lease
 * - draining: requests nothing; running messages finish, held ones are released
 * - stopped: all messages are released
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
  readonly wakeups: SourceWakeups;
  /** Subscribes to the notifications of an emulator, where there is one. */
  readonly subscribe?: ((onWork: () => void) => { ask(): void; end(): void }) | undefined;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<QueueObservation>;
}

/** Time limit for the release of messages in `stop`. */
const stopWithinMs = 5_000;

/** Listens to one storage queue for one function. */
export class QueueListener implements TriggerListener {
  readonly name: string;
  readonly #options: QueueListenerOptions;
  readonly #queue: StorageQueue;
  readonly #receiver: QueueReceiver;
  readonly #runIo: MessageRunIo;
  readonly #state;
  /** Received and not finished. At most batchSize + newBatchThreshold for each worker. */
  readonly #inFlight = new Set<MessageRun>();
  readonly #closing = new AbortController();
  readonly #cut = new AbortController();
  readonly broken: Promise<unknown>;
  #break: (error: unknown) => void = () => undefined;
  #receiving: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;
  readonly #rate = new ArrivalRate();
  /** Messages received, without those that were returned. */
  #taken = 0;
  #reportedNotBase64 = false;
  #workers = 1;

  constructor(listenerOptions: QueueListenerOptions) {
    this.#options = listenerOptions;
    this.broken = new Promise((resolve) => (this.#break = resolve));
    const { functionName, account, options, observe } = listenerOptions;
    this.name = `queue trigger ${functionName}`;
    this.#queue = account.queue(options.queueName);
    setMaxListeners(0, this.#cut.signal); // one for each request in flight
    this.#state = queueListenerStates.start('created', ({ to }) =>
      observe({ kind: 'queue.listener', functionName, queue: this.#queue.name, state: to }),
    );
    this.#receiver = new QueueReceiver({
      ...listenerOptions,
      setting: account.setting,
      queue: this.#queue,
      cut: this.#cut.signal,
      hasCapacity: () => this.#state.is('listening') && this.#inFlight.size <= this.#mostBeforeRequest,
      onMessages: (messages, askedAtMs) => this.#accept(messages, askedAtMs),
    });
    const { deliver, wakeups, clock, randomness } = listenerOptions;
    this.#runIo = {
      functionName,
      account,
      options,
      deliver,
      wakeups,
      clock,
      randomness,
      observe,
      queue: this.#queue,
      cut: this.#cut.signal,
      onUnexpectedBody: (message) => this.#reportNotBase64(message),
      onReturn: (delayMs) => {
        this.#taken -= 1;
        this.#receiver.expect(delayMs);
      },
    };
  }

  /** Resolves without waiting for the service: the listener retries while the service is unavailable or the queue missing. */
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
    for (const run of this.#inFlight) void run.start();
    this.#receiver.capacityFreed();
  }

  scale(workers: number): void {
    this.#workers = Math.max(1, workers);
    this.#receiver.capacityFreed();
  }

  async drain(deadline: AbortSignal): Promise<void> {
    if (this.#state.is('listening', 'paused')) {
      this.#state.move('draining');
      this.#closing.abort();
      for (const run of this.#inFlight) void run.releaseUnstarted();
    }
    await untilAborted(this.#allFinished(), deadline);
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /** Works without a start. */
  async measure(signal: AbortSignal): Promise<Backlog> {
    const { clock, options } = this.#options;
    const own = { now: clock.now(), ownInFlight: this.#inFlight.size };
    try {
      const backlog = await withDeadline(clock, requestTimeoutMs, signal, (limited) =>
        measureQueue(this.#queue, own, limited),
      );
      const measured = { atMs: clock.monotonicMs(), waiting: backlog.waiting, taken: this.#taken };
      const targetPerWorker = options.batchSize + options.newBatchThreshold;
      return { ...backlog, arrivalsPerSecond: this.#rate.next(measured), targetPerWorker };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw queueUnavailable({ queue: this.#queue.name, operation: 'measure', reason }, error);
    }
  }

  /** Messages in flight at which another batch is requested. */
  get #mostBeforeRequest(): number {
    const { batchSize, newBatchThreshold } = this.#options.options;
    return (this.#workers - 1) * (batchSize + newBatchThreshold) + newBatchThreshold;
  }

  async #stop(): Promise<void> {
    this.#state.move('stopped');
    this.#closing.abort();
    const cut = (): void => this.#cut.abort(new Error('the listener was stopped'));
    const cancel = this.#options.clock.after(stopWithinMs, cut);
    for (const run of this.#inFlight) void run.release();
    await this.#allFinished();
    cancel();
  }

  async #allFinished(): Promise<void> {
    await this.#receiving;
    await Promise.all([...this.#inFlight].map((run) => run.finished));
  }

  #accept(messages: readonly QueueMessage[], askedAtMs: number): void {
    const { functionName, observe } = this.#options;
    observe({ kind: 'queue.received', functionName, queue: this.#queue.name, messages: messages.length });
    this.#taken += messages.length;
    for (const message of messages) {
      const run = new MessageRun(this.#runIo, message, askedAtMs);
      this.#inFlight.add(run);
      void run.finished.then(() => {
        this.#inFlight.delete(run);
        this.#receiver.capacityFreed();
      });
      if (this.#state.is('listening')) void run.start();
      else if (!this.#state.is('paused')) void run.release();
    }
  }

  #reportNotBase64({ id, dequeueCount }: QueueMessage): void {
    if (this.#reportedNotBase64) return;
    this.#reportedNotBase64 = true;
    const { functionName, observe } = this.#options;
    const about = { functionName, queue: this.#queue.name, messageId: id, deliveryCount: dequeueCount };
    observe({ kind: 'queue.not-base64', ...about });
  }
}
