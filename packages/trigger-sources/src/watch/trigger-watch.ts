import type { Clock, Observe, Randomness } from '@drover/service-kit';
import type { ParkedSource, ParkedTimer, ParkedTrigger } from '../parked-trigger.js';
import { requestTimeoutMs, withDeadline } from '../requests.js';
import type { SourceWakeups } from '../source-wakeups.js';
import { CheckSlots } from './check-slots.js';
import { DueQueue, type Due } from './due-queue.js';
import type { NotificationEndpoint } from './notification-endpoint.js';
import { NotificationEndpoints } from './notification-endpoints.js';
import type { NoticedBy, TriggerWatchObservation } from './observations.js';
import { SharedClientCache } from './shared-client-cache.js';
import { WatchedSource, type WatchedSourceIo } from './watched-source.js';

interface TriggerWatchOptions {
  /** Shared with the outputs of this process. */
  readonly wakeups: SourceWakeups;
  /** Shared with the listeners of this process. */
  readonly notificationEndpoints?: NotificationEndpoints;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<TriggerWatchObservation>;
}

export interface WatchedApplication {
  /** For logs: `tenant/application`. */
  readonly application: string;
  readonly triggers: readonly { readonly functionName: string; readonly parked: ParkedTrigger }[];
}

/** Why an application has to run. */
export interface NoticedWork {
  readonly functionName: string;
  readonly by: NoticedBy;
}

/** Requests to services at a time, for all parked triggers together. */
const checksAtATime = 16;
/** The wall clock is looked at this often: it may be set, and it goes on while the machine is suspended. */
const longestWaitMs = 15_000;
/** A timer wakes its application this early, so that the function runs in time. */
const timerLeadMs = 1_000;
const storeRetryMs = 5_000;

/** A source with the applications that wait for it. */
interface SharedSource {
  readonly watched: WatchedSource;
  readonly waiting: Set<(by: NoticedBy) => void>;
  readonly unlisten: () => void;
  /** Ends what was opened ahead for the listener. */
  readonly release: () => void;
}

/**
 * Notices work for applications that have neither worker nor listener, at almost no cost for each: emulators tell over one connection
 * per endpoint, outputs of this process tell directly, timers wait in one heap, and what has nothing better is polled at growing
 * intervals with clients that all applications share. Every source is looked at once after it is watched, and once after each
 * reconnect, so that nothing that arrived in between is missed.
 */
export class TriggerWatch {
  readonly #options: TriggerWatchOptions;
  readonly #slots = new CheckSlots(checksAtATime);
  readonly #clients: SharedClientCache;
  readonly #polls: DueQueue;
  readonly #timers: DueQueue;
  readonly #io: WatchedSourceIo;
  readonly #endpoints: NotificationEndpoints;
  readonly #sources = new Map<string, SharedSource>();

  constructor(options: TriggerWatchOptions) {
    this.#options = options;
    const { clock } = options;
    this.#clients = new SharedClientCache(clock);
    this.#endpoints = options.notificationEndpoints ?? new NotificationEndpoints(options);
    this.#polls = new DueQueue({ now: () => clock.monotonicMs(), clock, longestWaitMs });
    this.#timers = new DueQueue({ now: () => clock.now(), clock, longestWaitMs });
    this.#io = { ...options, clients: this.#clients, slots: this.#slots, polls: this.#polls };
  }

  /**
   * Calls `onWork` once, as soon as a trigger of the application has work, or has it already; never before this method returns.
   * Returns the function that ends the watch earlier. The caller watches again when the application is parked again.
   */
  watch({ application, triggers }: WatchedApplication, onWork: (work: NoticedWork) => void): () => void {
    const endings: (() => void)[] = [];
    let isOver = false;
    const end = (): void => {
      isOver = true;
      for (const ending of endings.splice(0)) ending();
    };
    for (const { functionName, parked } of triggers) {
      const notice = (by: NoticedBy): void => {
        if (isOver) return;
        end();
        this.#options.observe({ kind: 'watch.noticed', application, functionName, by });
        onWork({ functionName, by });
      };
      if (parked.kind === 'timer') endings.push(this.#watchTimer(parked, notice));
      else if (parked.kind === 'source') endings.push(this.#watchSource(parked, notice));
    }
    return end;
  }

  async close(): Promise<void> {
    for (const { watched, unlisten, release } of this.#sources.values()) {
      unlisten();
      release();
      watched.end();
    }
    this.#sources.clear();
    this.#polls.close();
    this.#timers.close();
    this.#slots.close();
    await this.#clients.close();
  }

  #watchTimer(timer: ParkedTimer, notice: (by: NoticedBy) => void): () => void {
    const { clock } = this.#options;
    let due: Due | undefined;
    let isEnded = false;
    const read = (): void =>
      this.#slots.run(
        (signal) => withDeadline(clock, requestTimeoutMs, signal, (limited) => timer.dueAtMs(limited)),
        (atMs) => {
          if (isEnded || atMs === undefined) return;
          due = this.#timers.add(atMs - timerLeadMs, () => notice('schedule'));
        },
        // The store observes its outages.
        () => {
          if (!isEnded) due = this.#polls.add(clock.monotonicMs() + storeRetryMs, read);
        },
      );
    read();
    return () => {
      isEnded = true;
      due?.cancel();
    };
  }

  #watchSource(source: ParkedSource, notice: (by: NoticedBy) => void): () => void {
    const { key } = source;
    const shared = this.#sources.get(key) ?? this.#share(source);
    shared.waiting.add(notice);
    return () => {
      shared.waiting.delete(notice);
      if (shared.waiting.size === 0 && this.#sources.get(key) === shared) this.#forget(source, shared);
    };
  }

  #share(source: ParkedSource): SharedSource {
    const { wakeups } = this.#options;
    const waiting = new Set<(by: NoticedBy) => void>();
    const noticeAll = (by: NoticedBy): void => {
      const all = [...waiting]; // one of them may watch again at once
      for (const notice of all) notice(by);
    };
    const watched = new WatchedSource(source, this.#endpointOf(source), this.#io, noticeAll);
    const unlisten =
      source.address === undefined ? () => undefined : wakeups.listen(source.address, () => noticeAll('output'));
    const shared = { watched, waiting, unlisten, release: source.keepReady?.() ?? (() => undefined) };
    this.#sources.set(source.key, shared);
    void source.preload?.().catch(() => undefined); // a library that is missing shows when the listener starts
    watched.start();
    return shared;
  }

  #forget(source: ParkedSource, { watched, unlisten, release }: SharedSource): void {
    this.#sources.delete(source.key);
    unlisten();
    release();
    watched.end();
    const origin = source.notifications?.origin;
    if (origin !== undefined) this.#endpoints.release(origin);
  }

  #endpointOf({ notifications }: ParkedSource): NotificationEndpoint | undefined {
    return notifications && this.#endpoints.of(notifications.origin);
  }
}
