import { defineStates } from '@drover/contracts';
import { WakeUp, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import { untilAborted } from '../requests.js';
import type { HeldLease } from '../store/held-lease.js';
import { Lease } from '../store/lease.js';
import type { TriggerStoreObservation } from '../store/observations.js';
import type { TriggerStore } from '../store/trigger-store.js';
import type { Backlog, Deliver, TriggerListener } from '../trigger-source.js';
import type { TimerObservation } from './observations.js';
import type { TimerOptions } from './timer-options.js';
import { TimerRun } from './timer-run.js';
import {
  encodeStatus,
  isFromTheFuture,
  isPastDue,
  newerStatus,
  newStatus,
  parseStatus,
  resumeStatus,
  statusAfterRun,
  timerPayload,
  upcomingStatus,
  type TimerStatus,
} from './timer-status.js';
import { toLocalIso } from './time-zone.js';

/**
 * - created: not started
 * - listening: waits for the lease, then for the next occurrence
 * - paused: has or waits for the lease; an occurrence that falls due runs after the pause
 * - draining: starts nothing; a running occurrence finishes
 * - stopped: the lease is released
 */
export const timerListenerStates = defineStates('timer listener', {
  created: ['listening', 'stopped'],
  listening: ['paused', 'draining', 'stopped'],
  paused: ['listening', 'draining', 'stopped'],
  draining: ['stopped'],
  stopped: [],
});

interface TimerListenerOptions {
  readonly functionName: string;
  readonly options: TimerOptions;
  readonly store: TriggerStore;
  /** Of the lease and the status in the store. */
  readonly key: string;
  /** Another runtime takes over when this one was silent for this long. */
  readonly leaseMs: number;
  readonly deliver: Deliver;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<TimerObservation | TriggerStoreObservation>;
}

/** The wall clock is looked at this often: it may be set, and it goes on while the machine is suspended and timers stand still. */
const longestWaitMs = 15_000;
/** Time limit for the release of the lease in `stop`. */
const stopWithinMs = 5_000;

/**
 * Runs one timer, in one runtime at a time: the holder of its lease. The status is stored with the lease, so that a former holder
 * cannot overwrite it. An occurrence is recorded after its run: one that a crash interrupted runs again, past due.
 */
export class TimerListener implements TriggerListener {
  readonly name: string;
  readonly broken: Promise<unknown>;
  readonly #options: TimerListenerOptions;
  readonly #lease: Lease;
  readonly #state;
  readonly #wakeUp = new WakeUp();
  readonly #closing = new AbortController();
  readonly #cut = new AbortController();
  #break: (error: unknown) => void = () => undefined;
  #running: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;
  /** Of this runtime as long as it holds the lease. */
  #status: TimerStatus | undefined;
  #isHolder = false;
  #isRunning = false;
  #runsAtStart: boolean;

  constructor(listenerOptions: TimerListenerOptions) {
    this.#options = listenerOptions;
    const { functionName, options, leaseMs, observe } = listenerOptions;
    this.name = `timer trigger ${functionName}`;
    this.broken = new Promise((resolve) => (this.#break = resolve));
    this.#lease = new Lease({ ...listenerOptions, ttlMs: leaseMs });
    this.#runsAtStart = options.runOnStartup;
    this.#state = timerListenerStates.start('created', ({ to }) =>
      observe({ kind: 'timer.listener', functionName, state: to }),
    );
  }

  /** Resolves without waiting for the lease: another runtime may have it for as long as it lives. */
  async start(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#state.move('listening');
    this.#running = this.#run().catch((error: unknown) => this.#break(error));
  }

  pause(): void {
    if (this.#state.is('listening')) this.#state.move('paused');
  }

  resume(): void {
    if (!this.#state.is('paused')) return;
    this.#state.move('listening');
    this.#wakeUp.notify();
  }

  async drain(deadline: AbortSignal): Promise<void> {
    if (this.#state.is('listening', 'paused')) {
      this.#state.move('draining');
      this.#closing.abort(new Error('the listener drains'));
    }
    await untilAborted(this.#running, deadline);
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /** Works without a start. */
  async measure(signal: AbortSignal): Promise<Backlog> {
    const { options, clock } = this.#options;
    const none: Backlog = { waiting: 0, oldestAgeMs: undefined, maxUsefulWorkers: 1, targetPerWorker: 1 };
    const stored = this.#isHolder || !options.isMonitored ? undefined : parseStatus(await this.#lease.peek(signal));
    const status = stored?.scheduleId === options.schedule.id ? stored : this.#status;
    const lateMs = clock.now() - (status?.next ?? Number.POSITIVE_INFINITY);
    return lateMs < 0 || this.#isRunning ? none : { ...none, waiting: 1, oldestAgeMs: lateMs };
  }

  async #stop(): Promise<void> {
    this.#state.move('stopped');
    this.#closing.abort(new Error('the listener was stopped'));
    this.#cut.abort(new Error('the listener was stopped'));
    const late = new AbortController();
    const cancel = this.#options.clock.after(stopWithinMs, () => late.abort());
    await untilAborted(this.#running, late.signal);
    cancel();
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      const held = await this.#lease.acquire(this.#closing.signal).catch((error: unknown) => {
        if (this.#closing.signal.aborted) return undefined;
        throw error;
      });
      if (!held) return;
      held.lost.addEventListener('abort', () => this.#wakeUp.notify(), { once: true });
      try {
        this.#isHolder = true;
        await this.#runWhileHeld(held);
      } finally {
        this.#isHolder = false;
        await this.#recordUpcoming(held);
        await held.release();
      }
    }
  }

  async #runWhileHeld(held: HeldLease): Promise<void> {
    const { functionName, options, clock, observe } = this.#options;
    const now = clock.now();
    const stored = parseStatus(held.state);
    const known = options.isMonitored ? newerStatus(this.#status, stored) : upcomingStatus(stored, now);
    let status = resumeStatus(known, options.schedule, now);
    this.#status = status;
    let wasMissed = status.next !== undefined && status.next <= now;
    if (status !== stored && !(await this.#record(held, status))) return;
    observe({ kind: 'timer.scheduled', functionName, next: this.#shown(status), isMonitored: options.isMonitored });
    for (;;) {
      status = await this.#untilDue(held, status);
      if (this.#closing.signal.aborted || !(await held.confirm())) return;
      const startedAt = clock.now();
      const isPast = wasMissed || isPastDue(status, startedAt);
      if (!(await this.#runOnce(held, status, startedAt, isPast))) return;
      wasMissed = false;
      status = statusAfterRun(status, options.schedule, startedAt, clock.now());
      if (!(await this.#record(held, status))) return;
    }
  }

  /** Resolves with the status when an occurrence is due, or when the lease is lost or the listener closes. */
  async #untilDue(held: HeldLease, from: TimerStatus): Promise<TimerStatus> {
    const { functionName, options, clock, observe } = this.#options;
    let status = from;
    while (!held.lost.aborted && !this.#closing.signal.aborted) {
      this.#wakeUp.reset();
      const now = clock.now();
      if (isFromTheFuture(status, now)) {
        status = newStatus(options.schedule, now);
        observe({ kind: 'timer.clock-set-back', functionName, next: this.#shown(status) });
        if (!(await this.#record(held, status))) return status;
      }
      const inMs = this.#runsAtStart ? 0 : (status.next ?? Number.POSITIVE_INFINITY) - now;
      const isListening = this.#state.is('listening');
      if (inMs <= 0 && isListening) return status;
      await this.#wakeUp.wait(clock, isListening ? Math.min(inMs, longestWaitMs) : longestWaitMs, this.#closing.signal);
    }
    return status;
  }

  /** Resolves with false if the run was interrupted: it is not recorded, and runs again. */
  async #runOnce(held: HeldLease, status: TimerStatus, startedAt: number, isPast: boolean): Promise<boolean> {
    const { functionName, options, observe } = this.#options;
    const { schedule, zone, isMonitored } = options;
    this.#runsAtStart = false;
    observe({
      kind: 'timer.started',
      functionName,
      isPastDue: isPast,
      lateMs: Math.max(0, startedAt - (status.next ?? startedAt)),
    });
    const run = new TimerRun({
      ...this.#options,
      data: timerPayload(schedule, isMonitored ? status : undefined, isPast, zone),
      at: toLocalIso(startedAt, zone),
      closing: this.#closing.signal,
      ends: [held.lost, this.#cut.signal],
    });
    this.#isRunning = true;
    const isDone = await run.finish();
    this.#isRunning = false;
    if (!isDone) observe({ kind: 'timer.interrupted', functionName });
    return isDone;
  }

  /** Stores a status, if the timer is monitored. Resolves with false if the lease is lost. */
  async #record(held: HeldLease, status: TimerStatus): Promise<boolean> {
    this.#status = status;
    return this.#options.options.isMonitored ? held.write(encodeStatus(status)) : !held.lost.aborted;
  }

  /** Without a monitor the status is stored once, at the end: the next listener goes on with the same occurrence. */
  async #recordUpcoming(held: HeldLease): Promise<void> {
    if (this.#options.options.isMonitored || !this.#status || held.lost.aborted) return;
    await held.write(encodeStatus(this.#status));
  }

  #shown({ next }: TimerStatus): string {
    return next === undefined ? 'no time' : toLocalIso(next, this.#options.options.zone);
  }
}
