import { defineStates } from '@drover/contracts';
import type { Clock, Observe, Randomness } from '@drover/service-kit';
import type { ParkedSource, SharedClients, WorkInterest } from '../parked-trigger.js';
import { rejectOnAbort, requestTimeoutMs, withDeadline } from '../requests.js';
import type { CheckSlots } from './check-slots.js';
import type { Due, DueQueue } from './due-queue.js';
import type { NotificationEndpoint, NotificationTarget } from './notification-endpoint.js';
import type { NoticedBy, TriggerWatchObservation } from './observations.js';

/**
 * - waiting: the next look is scheduled; after each one that found nothing, and while the emulator cannot be reached
 * - looking: the source or its positions are being read
 * - told: the emulator, or the source itself, was asked and answers when there is work
 * - ended: work was noticed, or no application is interested any more
 */
export const watchedSourceStates = defineStates('watched source', {
  waiting: ['looking', 'ended'],
  looking: ['waiting', 'told', 'ended'],
  told: ['waiting', 'ended'],
  ended: [],
});

export interface WatchedSourceIo {
  readonly clients: SharedClients;
  readonly slots: CheckSlots;
  /** By monotonic time. */
  readonly polls: DueQueue;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<TriggerWatchObservation>;
}

/** An emulator connects within this time; a source without one is looked at at once. */
const connectingMs = 250;
const firstPollMs = 250;
/** All polled sources together: with more of them, each is polled less often. */
const pollsPerSecond = 20;
/** A look that takes long, as at a large container, is followed by a pause of four times its duration. */
const restPerWork = 4;
/** An emulator that starts or restarts answers sooner. */
const reportAfterMs = 10_000;

/** One source that parked triggers wait for. Notices work once. */
export class WatchedSource implements NotificationTarget {
  readonly #source: ParkedSource;
  readonly #endpoint: NotificationEndpoint | undefined;
  readonly #io: WatchedSourceIo;
  readonly #onWork: (by: NoticedBy) => void;
  readonly #state = watchedSourceStates.start('waiting');
  #due: Due | undefined;
  #question: number | undefined;
  #awaited: AbortController | undefined;
  #emptyInARow = 0;
  #failedSinceMs: number | undefined;
  #isFailureReported = false;
  /** The emulator does not know the entity: the source is polled until the next connection. */
  #isRefused = false;

  constructor(
    source: ParkedSource,
    endpoint: NotificationEndpoint | undefined,
    io: WatchedSourceIo,
    onWork: (by: NoticedBy) => void,
  ) {
    this.#source = source;
    this.#endpoint = endpoint;
    this.#io = io;
    this.#onWork = onWork;
  }

  /** Looks at the source soon, never before it returns. */
  start(): void {
    const isConnecting = this.#endpoint && !this.#endpoint.isConnected;
    this.#endpoint?.add(this);
    this.#wait(isConnecting ? connectingMs : 0);
  }

  end(): void {
    if (this.#state.is('ended')) return;
    this.#state.move('ended');
    this.#due?.cancel();
    this.#endpoint?.remove(this, this.#question);
    this.#awaited?.abort(new Error('the watch of the source ended'));
  }

  onConnected(): void {
    this.#isRefused = false;
    if (!this.#state.is('waiting')) return; // one that is being read asks the emulator when it is done
    this.#due?.cancel();
    this.#look();
  }

  onLost(): void {
    this.#question = undefined;
    if (!this.#state.is('told')) return;
    this.#state.move('waiting');
    this.#emptyInARow = 0;
    this.#wait(connectingMs);
  }

  onWork(): void {
    this.#question = undefined;
    this.#notice('notification');
  }

  onRefused(): void {
    this.#question = undefined;
    this.#isRefused = true;
    if (!this.#state.is('told')) return;
    this.#state.move('waiting');
    this.#wait(0);
  }

  get #isTold(): boolean {
    return this.#endpoint !== undefined && this.#endpoint.isConnected && !this.#isRefused;
  }

  #notice(by: NoticedBy): void {
    if (!this.#state.is('ended')) this.#onWork(by);
  }

  #wait(delayMs: number): void {
    const { polls, clock } = this.#io;
    this.#due = polls.add(clock.monotonicMs() + delayMs, () => this.#look());
  }

  #look(): void {
    this.#state.move('looking');
    const { slots, clock } = this.#io;
    const limited = <T>(call: (signal: AbortSignal) => Promise<T>) => {
      return (signal: AbortSignal): Promise<T> =>
        withDeadline(clock, requestTimeoutMs, signal, (aborting) => rejectOnAbort(() => call(aborting), aborting));
    };
    const failed = (error: unknown): void => {
      if (this.#state.is('ended')) return;
      this.#state.move('waiting');
      this.#failed(error);
    };
    const { notifications } = this.#source;
    if (notifications && this.#isTold)
      return slots.run(
        limited((signal) => notifications.interest(signal)),
        (interest) => this.#ask(interest),
        failed,
      );
    const startedMs = clock.monotonicMs();
    const look = limited((signal) => this.#source.hasWork(this.#io.clients, signal));
    slots.run(look, (hasWork) => this.#looked(hasWork, clock.monotonicMs() - startedMs), failed);
  }

  #ask(interest: WorkInterest | 'work'): void {
    if (this.#state.is('ended')) return;
    this.#recovered();
    if (interest === 'work') return this.#notice('poll');
    if (this.#endpoint?.isConnected) {
      this.#state.move('told');
      this.#question = this.#endpoint.watch(this, interest);
      return;
    }
    this.#state.move('waiting');
    this.#wait(connectingMs);
  }

  #looked(hasWork: boolean, tookMs: number): void {
    if (this.#state.is('ended')) return;
    this.#recovered();
    if (hasWork) return this.#notice('poll');
    const { untilWork } = this.#source;
    if (untilWork) return this.#awaitWork(untilWork);
    this.#state.move('waiting');
    this.#emptyInARow += 1;
    // The emulator connected during this look: it is asked now, since work may have come after it.
    if (this.#isTold) return this.#wait(0);
    this.#wait(Math.max(this.#pauseMs(), restPerWork * tookMs));
  }

  #awaitWork(untilWork: NonNullable<ParkedSource['untilWork']>): void {
    this.#state.move('told');
    this.#awaited = new AbortController();
    untilWork(this.#awaited.signal).then(
      () => this.#notice('notification'),
      (error: unknown) => {
        if (this.#state.is('ended')) return;
        this.#state.move('waiting');
        this.#failed(error);
      },
    );
  }

  #pauseMs(): number {
    const { polls, randomness } = this.#io;
    const grown = firstPollMs * 2 ** Math.min(this.#emptyInARow - 1, 20);
    const shared = (polls.size * 1_000) / pollsPerSecond;
    return Math.max(shared, Math.min(this.#source.longestPollMs, grown)) * (0.8 + 0.4 * randomness.fraction());
  }

  #failed(error: unknown): void {
    const { clock, observe } = this.#io;
    this.#emptyInARow += 1;
    this.#failedSinceMs ??= clock.monotonicMs();
    const isReportable = clock.monotonicMs() - this.#failedSinceMs >= reportAfterMs;
    if (isReportable && !this.#isFailureReported) {
      this.#isFailureReported = true;
      const reason = error instanceof Error ? error.message : String(error);
      observe({ kind: 'watch.check-failed', source: this.#source.name, reason });
    }
    this.#wait(this.#pauseMs());
  }

  #recovered(): void {
    const { clock, observe } = this.#io;
    if (this.#failedSinceMs === undefined) return;
    const afterMs = clock.monotonicMs() - this.#failedSinceMs;
    this.#failedSinceMs = undefined;
    if (!this.#isFailureReported) return;
    this.#isFailureReported = false;
    observe({ kind: 'watch.check-recovered', source: this.#source.name, afterMs });
  }
}
