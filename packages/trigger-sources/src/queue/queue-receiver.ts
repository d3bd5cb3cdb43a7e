import { BackOff, WakeUp, sleep, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import type { QueueObservation } from './observations.js';
import { ExpectedReturns, pollWaitMs } from './poll-schedule.js';
import type { QueueOptions } from './queue-options.js';
import type { SourceWakeups } from '../source-wakeups.js';
import { requestTimeoutMs, withDeadline } from '../requests.js';
import { ServiceEpisode } from '../storage/service-episode.js';
import { failureOf, type QueueFailure, type QueueMessage, type StorageQueue } from './storage-queue.js';

interface QueueReceiverOptions {
  readonly functionName: string;
  /** The setting with the connection. */
  readonly setting: string;
  readonly queue: StorageQueue;
  readonly options: QueueOptions;
  readonly wakeups: SourceWakeups;
  /** Where an emulator can tell that messages came: `ask` makes it call `onWork` once. */
  readonly subscribe?: ((onWork: () => void) => { ask(): void; end(): void }) | undefined;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<QueueObservation>;
  /** Whether to request messages. Call `capacityFreed` when this may have become true. */
  readonly hasCapacity: () => boolean;
  /** Called with received messages and the monotonic time of their request. */
  readonly onMessages: (messages: readonly QueueMessage[], askedAtMs: number) => void;
  /** Aborts the request in flight. Its messages stay leased until the lease expires. */
  readonly cut: AbortSignal;
}

const failureBackOff = { firstMs: 200, maxMs: 30_000, factor: 2 };
/** Upper bound on a lost wake-up when room becomes available: polling again is cheap. */
const roomCheckMs = 60_000;
/** Notifications in a row without a message, after which only time wakes: an emulator that is wrong must not cause a hot loop. */
const mostInVain = 3;

/**
 * Polls a queue: at once while messages arrive, at growing intervals while none do, and at once when an output of this process
 * sends to the queue or an emulator tells of a message. Errors of the service never end the loop.
 */
export class QueueReceiver {
  readonly #options: QueueReceiverOptions;
  readonly #room = new WakeUp();
  readonly #news = new WakeUp();
  readonly #returns: ExpectedReturns;
  readonly #episode: ServiceEpisode<QueueFailure>;
  #emptyInARow = 0;
  #inVain = 0;
  #isWaiting = false;

  constructor(options: QueueReceiverOptions) {
    this.#options = options;
    const { functionName, setting, queue, clock, observe } = options;
    const place = { functionName, queue: queue.name };
    this.#episode = new ServiceEpisode(clock, {
      failed: (failure, error) => {
        if (failure === 'queue-missing') observe({ kind: 'queue.missing', ...place });
        else observe({ kind: 'queue.unavailable', ...place, setting, failure, error });
      },
      over: (afterMs) => observe({ kind: 'queue.available', ...place, afterMs }),
    });
    this.#returns = new ExpectedReturns(clock, () => {
      this.#emptyInARow = 0;
      this.#news.notify();
    });
  }

  capacityFreed(): void {
    this.#room.notify();
  }

  /** A message becomes visible after this delay. */
  expect(delayMs: number): void {
    this.#returns.expect(delayMs);
  }

  /** Resolves after `closing` aborts and the request in flight has ended. */
  async run(closing: AbortSignal): Promise<void> {
    const { clock, wakeups, queue, hasCapacity, subscribe } = this.#options;
    const backOff = new BackOff(failureBackOff, this.#options);
    const notify = (): void => this.#news.notify();
    const unlisten = wakeups.listen(queue.address, notify, () => {
      const isIdle = this.#isWaiting;
      if (isIdle) notify();
      return isIdle;
    });
    const subscription = subscribe?.(() => {
      this.#inVain += 1;
      notify();
    });
    while (!closing.aborted) {
      this.#room.reset();
      if (!hasCapacity()) {
        await this.#room.wait(clock, roomCheckMs, closing);
        continue;
      }
      this.#news.reset();
      const answer = await this.#poll();
      if (answer === 'failed') await sleep(clock, backOff.nextMs(), closing).catch(() => undefined);
      else backOff.reset();
      if (answer === 'empty') {
        if (this.#inVain < mostInVain) subscription?.ask();
        await this.#wait(closing);
      } else this.#emptyInARow = this.#inVain = 0;
      // What was received leaves first: the next request takes longer to write than an invocation.
      if (answer === 'found') await new Promise<void>((resolve) => process.nextTick(resolve));
    }
    unlisten();
    subscription?.end();
    this.#returns.clear();
  }

  async #wait(closing: AbortSignal): Promise<void> {
    const pauseMs = this.#pauseMs();
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    this.#isWaiting = true;
    await this.#news.wait(clock, pauseMs, closing);
    this.#isWaiting = false;
    if (clock.monotonicMs() - startedMs >= pauseMs) this.#inVain = 0;
  }

  #pauseMs(): number {
    this.#emptyInARow += 1;
    return pollWaitMs(this.#emptyInARow, this.#options.options.maxPollingIntervalMs, this.#options.randomness);
  }

  async #poll(): Promise<'found' | 'empty' | 'failed'> {
    const { clock, queue, options, onMessages, cut } = this.#options;
    const request = { count: options.batchSize, leaseMs: options.leaseMs };
    const askedAtMs = clock.monotonicMs();
    try {
      const messages = await withDeadline(clock, requestTimeoutMs, cut, (signal) => queue.receive(request, signal));
      this.#episode.succeeded();
      if (messages.length === 0) return 'empty';
      onMessages(messages, askedAtMs);
      return 'found';
    } catch (error) {
      if (cut.aborted) return 'failed';
      const failure = failureOf(error);
      this.#episode.failed(failure, error);
      // Outputs create queues; a listener that did would hide a misspelt name.
      return failure === 'queue-missing' ? 'empty' : 'failed';
    }
  }
}
