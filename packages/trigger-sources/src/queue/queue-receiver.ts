import { BackOff, WakeUp, sleep, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import type { QueueObservation } from './observations.js';
import { ExpectedReturns, pollWaitMs } from './poll-schedule.js';
import type { QueueOptions } from './queue-options.js';
import type { QueueWakeups } from './queue-wakeups.js';
import { requestTimeoutMs, withDeadline } from './requests.js';
import { ServiceEpisode } from './service-episode.js';
import { failureOf, type QueueMessage, type StorageQueue } from './storage-queue.js';

interface QueueReceiverOptions {
  readonly functionName: string;
  readonly queue: StorageQueue;
  readonly options: QueueOptions;
  readonly wakeups: QueueWakeups;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<QueueObservation>;
  /** Whether to ask for messages now; call `roomMade` when that may have changed to yes. */
  readonly hasRoom: () => boolean;
  /** Gets what came, and when it was asked for (on the monotonic clock). */
  readonly take: (messages: readonly QueueMessage[], askedAtMs: number) => void;
  /** Cuts the request under way: what it would have brought is away until its lease ends. */
  readonly cut: AbortSignal;
}

const failureBackOff = { firstMs: 200, maxMs: 30_000, factor: 2 };
/** Upper bound on a lost wake-up when room becomes available: polling again is cheap. */
const roomCheckMs = 60_000;

/**
 * Asks a queue for messages: again at once while some come, later and later while none do, and at once again when
 * somebody in this process sent some. Whatever the service says or does not say, it goes on asking.
 */
export class QueueReceiver {
  readonly #options: QueueReceiverOptions;
  readonly #room = new WakeUp();
  readonly #news = new WakeUp();
  readonly #returns: ExpectedReturns;
  readonly #episode: ServiceEpisode;
  #emptyInARow = 0;

  constructor(options: QueueReceiverOptions) {
    this.#options = options;
    const { functionName, queue, clock } = options;
    this.#episode = new ServiceEpisode({ functionName, queue: queue.name }, options);
    this.#returns = new ExpectedReturns(clock, () => {
      this.#emptyInARow = 0;
      this.#news.notify();
    });
  }

  roomMade(): void {
    this.#room.notify();
  }

  /** Something can be received after that time. */
  expect(delayMs: number): void {
    this.#returns.expect(delayMs);
  }

  /** Resolves some time after `closing` aborts: a request under way comes to its end first. */
  async run(closing: AbortSignal): Promise<void> {
    const { clock, wakeups, queue, hasRoom } = this.#options;
    const backOff = new BackOff(failureBackOff, this.#options);
    const unlisten = wakeups.listen(queue.address, () => this.#news.notify());
    while (!closing.aborted) {
      this.#room.reset();
      if (!hasRoom()) {
        await this.#room.wait(clock, roomCheckMs, closing);
        continue;
      }
      this.#news.reset();
      const answer = await this.#ask();
      if (answer === 'failed') await sleep(clock, backOff.nextMs(), closing).catch(() => undefined);
      else backOff.reset();
      if (answer === 'empty') await this.#news.wait(clock, this.#pauseMs(), closing);
      else this.#emptyInARow = 0;
    }
    unlisten();
    this.#returns.clear();
  }

  #pauseMs(): number {
    this.#emptyInARow += 1;
    return pollWaitMs(this.#emptyInARow, this.#options.options.maxPollingIntervalMs, this.#options.randomness);
  }

  async #ask(): Promise<'found' | 'empty' | 'failed'> {
    const { clock, queue, options, take, cut } = this.#options;
    const request = { count: options.batchSize, leaseMs: options.leaseMs };
    const askedAtMs = clock.monotonicMs();
    try {
      const messages = await withDeadline(clock, requestTimeoutMs, cut, (signal) => queue.receive(request, signal));
      this.#episode.succeeded();
      if (messages.length === 0) return 'empty';
      take(messages, askedAtMs);
      return 'found';
    } catch (error) {
      if (cut.aborted) return 'failed';
      const failure = failureOf(error);
      this.#episode.failed(failure, error);
      // Made by whoever sends to it first: a poller that made queues would hide a misspelt name.
      return failure === 'queue-missing' ? 'empty' : 'failed';
    }
  }
}
