import type { DriverCapabilities, WorkerSample } from '../types/driver.js';
import {
  BackpressureError,
  QuarantinedError,
  RequestTimeoutError,
  UnsupportedOptionError,
  WorkerClosedError,
  type CrashFacts,
  type WorkerUnavailableError,
} from '../types/errors.js';
import { kind } from '../types/wire-message.js';
import type { Logger, SendOptions, WorkerState } from '../types/worker.js';
import { onAbort } from './abort-listeners.js';
import { maxAttemptsFor } from './blame.js';
import { unavailableLike, unavailableAfter } from './crash-report.js';
import { diagnostics, reportRequest } from './diagnostics.js';
import { DurationCounts, type RequestCounts } from './duration-counts.js';
import { answerHostCall, LiveWorker } from './live-worker.js';
import { MemoryWatch } from './memory-watch.js';
import { PendingRequest, type RequestCallbacks } from './pending-request.js';
import { PendingRequests } from './pending-requests.js';
import { ProcessHold } from './process-hold.js';
import { Quarantine } from './quarantine.js';
import { RestartPolicy } from './restart-policy.js';
import { Standby } from './standby.js';
import { TimeLimits, type CallLimits } from './time-limits.js';
import {
  filteredLogger,
  resolveWorkerOptions,
  type AnyWorkerOptions,
  type IsolatedWorkerSettings,
} from './worker-settings.js';
import { nextWorkerState } from './worker-states.js';

/** What a worker of a pool shares with it. */
export interface WorkerCoreParts {
  readonly times?: RequestCounts;
  /** Called before a worker is recycled because its event loop is blocked by an abandoned request. */
  readonly onStuck?: (() => void) | undefined;
}

/**
 * The host's side of one worker across all its restarts: admits requests, supervises the process or thread, and replaces
 * one that died. The states are in worker-states.ts, the places of a request in pending-requests.ts.
 */
export class WorkerCore {
  readonly times: RequestCounts = { wait: new DurationCounts(), run: new DurationCounts() };
  readonly #options: AnyWorkerOptions;
  readonly #settings: IsolatedWorkerSettings;
  readonly #log: Logger;
  readonly #policy: RestartPolicy;
  readonly #quarantine: Quarantine;
  readonly #requests: PendingRequests;
  readonly #memory: MemoryWatch;
  readonly #limits: TimeLimits;
  readonly #standby: Standby | undefined;
  #state: WorkerState = 'starting';
  #live: LiveWorker;
  #nextTx = 1;
  #cancelRestart: (() => void) | undefined;
  #unavailableUntilMs = 0;
  /** Why it is unavailable, while it is. */
  #unavailability: WorkerUnavailableError | undefined;
  #restartTimer: NodeJS.Timeout | undefined;
  /** Set by `unref`. */
  #hold: ProcessHold | undefined;
  #closed: Promise<void> | undefined;
  #isDraining = false;

  constructor(options: AnyWorkerOptions, { times, onStuck }: WorkerCoreParts = {}) {
    if (times) this.times = times;
    this.#options = options;
    this.#settings = resolveWorkerOptions(options);
    const { maxConcurrent, maxMemoryMb, standby, acknowledgeMs } = this.#settings;
    this.#log = filteredLogger(options.logger ?? console, options.logLevel ?? 'error');
    this.#policy = new RestartPolicy(options.restart);
    this.#quarantine = new Quarantine(options.quarantine);
    this.#requests = new PendingRequests({
      middleware: options.middleware ?? [],
      maxConcurrent,
      acknowledgeMs,
      times: this.times,
      onStuck: () => {
        this.#log.warn('worker is recycled: its event loop is blocked by a cancelled request', { pid: this.pid });
        onStuck?.();
        void this.recycle();
      },
      onEmpty: () => this.#hold?.update(),
    });
    this.#memory = new MemoryWatch(maxMemoryMb, () => this.#requests.hasSent);
    this.#limits = new TimeLimits(this.#settings, (request, limitMs, limit) => this.expire(request, limitMs, limit));
    this.#standby = standby ? new Standby(() => this.#spawn(), this.#log) : undefined;
    this.#live = this.#spawn();
  }

  /** Resolves when the first worker is ready. Closes everything and rejects when it never gets ready. */
  async started(): Promise<void> {
    try {
      await this.#live.ready;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  get state(): WorkerState {
    return this.#state;
  }

  get pid(): number | undefined {
    return this.#live.pid;
  }

  get capabilities(): DriverCapabilities {
    return this.#settings.driver.capabilities;
  }

  get pending(): number {
    return this.#requests.size;
  }

  sample(): Promise<WorkerSample | undefined> {
    return this.#live.isReady ? this.#holdDuring(this.#live.connection.sample()) : Promise.resolve(undefined);
  }

  /** Admits or rejects a request. It is settled exactly once, through `callbacks`. `sinceMs`: it has waited elsewhere. */
  request(
    type: string,
    payload: unknown,
    options: SendOptions & CallLimits,
    callbacks: RequestCallbacks,
    credit: number,
    sinceMs?: number,
  ): PendingRequest {
    const nowMs = performance.now();
    const request = new PendingRequest(
      {
        type,
        payload,
        tx: this.#options.txIdGenerator?.({ type, payload }) ?? this.#nextTx++,
        maxAttempts: options.transfer ? 1 : maxAttemptsFor(this.#settings.unexpectedShutdown, type),
        traceparent: options.traceparent ?? this.#options.traceparent?.(),
        transfer: options.transfer,
        credit,
        priority: options.priority ?? 0,
        sinceMs: sinceMs ?? nowMs,
      },
      callbacks,
      this.#requests.remove,
    );
    if (options.signal?.aborted) {
      request.reject(options.signal.reason);
      return request;
    }
    const refusal = this.#refusal(type, payload, options);
    if (refusal) {
      request.reject(refusal);
      return request;
    }
    this.#watch(request, options, nowMs);
    reportRequest(request);
    if (this.#state === 'unavailable') this.#restart(0);
    this.#requests.add(request, nowMs);
    this.#hold?.update();
    return request;
  }

  /** Allows the worker to send `items` more items of a stream. */
  grant(request: PendingRequest, items: number): void {
    this.#requests.grant(request, items);
  }

  /** Rejects a request whose caller gave up, and aborts the signal of its handler. */
  abandon(request: PendingRequest, reason: unknown): void {
    this.#requests.abandon(request, reason);
  }

  /** Rejects a request that exceeded a time limit. */
  expire(request: PendingRequest, limitMs: number, limit: RequestTimeoutError['limit']): void {
    const { delivered } = request;
    this.abandon(request, new RequestTimeoutError(request.type, limitMs, limit));
    if (this.#settings.recycleOnTimeout && delivered) void this.recycle();
  }

  /** True when no request that was sent before this one waits for an answer. */
  isOldest(request: PendingRequest): boolean {
    return this.#requests.isOldest(request);
  }

  recycle(): Promise<void> {
    const old = this.#live;
    if (this.#state !== 'ready') return Promise.resolve();
    old.retire();
    return this.#holdDuring(old.connection.end(0));
  }

  /** With false, the worker keeps this process alive only while requests are pending; with true until it is closed. */
  setRef(isRef: boolean): void {
    if (this.#isClosing || isRef === (this.#hold === undefined)) return;
    this.#hold?.end();
    this.#hold = isRef ? undefined : new ProcessHold(() => this.pending > 0);
    this.#live.setRef(isRef);
    this.#standby?.setRef(isRef);
    if (isRef) this.#restartTimer?.ref();
    else this.#restartTimer?.unref();
  }

  drain(deadline?: AbortSignal): Promise<void> {
    if (!this.#isClosing) this.#isDraining = true;
    return this.#requests.empty(deadline);
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#holdDuring(this.#end()));
  }

  get #isClosing(): boolean {
    return this.#state === 'closing' || this.#state === 'closed';
  }

  async #end(): Promise<void> {
    this.#move('closing');
    this.#requests.hold();
    this.#cancelRestart?.();
    this.#memory.stop();
    this.#requests.rejectAll(() => new WorkerClosedError());
    this.#limits.stop();
    const { closeGraceMs } = this.#settings;
    await Promise.all([this.#live.end(closeGraceMs), this.#standby?.end(closeGraceMs), this.#requests.empty()]);
    this.#move('closed');
    this.#hold?.end();
  }

  /** Keeps this process alive until the promise is settled, though the worker does not. */
  #holdDuring<T>(promise: Promise<T>): Promise<T> {
    return this.#hold?.during(promise) ?? promise;
  }

  #refusal(type: string, payload: unknown, { transfer }: SendOptions): Error | undefined {
    if (this.#isDraining || this.#isClosing) return new WorkerClosedError();
    if (this.#unavailability && this.#state === 'unavailable' && performance.now() < this.#unavailableUntilMs) {
      return unavailableLike(this.#unavailability);
    }
    if (this.pending >= this.#settings.maxPending) return new BackpressureError(this.#settings.maxPending);
    if (transfer && transfer.length > 0 && !this.capabilities.transfer) {
      return new UnsupportedOptionError(
        `The driver ${this.#settings.driver.name} cannot transfer. Omit transfer or use workerThreads.`,
      );
    }
    if (this.#quarantine.isEmpty) return undefined;
    const kills = this.#quarantine.killsOf(type, payload, performance.now());
    return kills > 0 ? new QuarantinedError(type, kills) : undefined;
  }

  /** Applies the time limit and the caller's signal. */
  #watch(request: PendingRequest, options: SendOptions & CallLimits, nowMs: number): void {
    this.#limits.watch(request, options, nowMs);
    const { signal } = options;
    if (!signal) return;
    request.onSettled(onAbort(signal, () => this.abandon(request, signal.reason)));
  }

  #spawn(): LiveWorker {
    const live = new LiveWorker(this.#settings, {
      onMessage: (worker, message) => {
        if (worker !== this.#live) return;
        if (message[0] === kind.hostCall) void answerHostCall(worker, this.#options.hostHandlers, message);
        else this.#requests.receive(message);
      },
      onShutdown: (worker, facts) => {
        if (worker === this.#live) this.#died(worker, facts);
        else this.#standby?.recordEnd(worker, facts);
      },
    });
    if (this.#hold) live.setRef(false);
    live.ready.then(
      () => {
        // It may have died since: promises run after the messages of a turn.
        if (live === this.#live && live.isReady) this.#becomeReady();
      },
      () => undefined, // `onShutdown` follows and decides
    );
    return live;
  }

  #becomeReady(): void {
    if (this.#isClosing) return;
    this.#move('ready');
    this.#memory.watch(this.#live);
    this.#requests.assignTo(this.#live);
    this.#standby?.fill();
  }

  /** Handles the death of the current worker. `LiveWorker` reports it once. */
  #died(worker: LiveWorker, facts: CrashFacts): void {
    this.#memory.stop();
    if (this.#isClosing) return;
    const before = this.#state;
    this.#requests.hold();
    const blame = this.#requests.takeBack(worker);
    const counts = { suspects: blame.suspects.length, bystanders: blame.bystanders.length };
    this.#log.warn('worker died', { ...facts, ...counts });
    diagnostics.crash.publish({ ...facts, ...counts });
    this.#move('restarting');
    const [only] = blame.suspects;
    if (counts.suspects === 1 && only && !worker.isRetired) {
      this.#quarantine.recordKill(only.type, only.payload, performance.now());
    }
    const retried = this.#requests.requeue(blame, facts);
    if (this.#isClosing) return; // a pool ends a retiring worker with its last request
    // A first worker that never got ready is not replaced: `started` rejects, and its caller decides.
    if (before === 'starting') return this.#becomeUnavailable('The worker did not start', facts);
    this.#replace(facts, { wasReady: before === 'ready', isPlanned: worker.isRetired, isForRetry: retried > 0 });
  }

  #replace(
    facts: CrashFacts,
    {
      wasReady,
      isPlanned,
      isForRetry,
    }: { readonly wasReady: boolean; readonly isPlanned: boolean; readonly isForRetry: boolean },
  ): void {
    if (!this.capabilities.reconnect) {
      this.#becomeUnavailable('The worker ended and its driver cannot start another', facts);
      this.#unavailableUntilMs = Number.POSITIVE_INFINITY;
      return;
    }
    const decision = isPlanned ? undefined : this.#policy.next(performance.now(), Math.random(), isForRetry);
    if (decision && !decision.restart) {
      const { restarts, periodMs } = decision;
      return this.#becomeUnavailable(
        `The worker died ${restarts === 0 ? 'once' : `${restarts + 1} times`} within ${periodMs} ms`,
        facts,
      );
    }
    const spare = wasReady ? this.#standby?.claim() : undefined;
    if (spare) {
      this.#live = spare;
      return spare.isReady ? this.#becomeReady() : undefined; // otherwise when it reports that it is
    }
    this.#restart(decision?.delayMs ?? 0);
  }

  #restart(delayMs: number): void {
    this.#cancelRestart?.();
    this.#move('restarting');
    diagnostics.restart.publish({ delayMs });
    const begin = (): void => {
      this.#cancelRestart = undefined;
      this.#live = this.#spawn();
    };
    if (delayMs === 0) {
      // Starting a process blocks this thread for some milliseconds, so rejected callers are notified first.
      const soon = setImmediate(begin);
      this.#cancelRestart = () => clearImmediate(soon);
      return;
    }
    this.#restartTimer = setTimeout(begin, delayMs);
    if (this.#hold) this.#restartTimer.unref();
    this.#cancelRestart = () => clearTimeout(this.#restartTimer);
  }

  #becomeUnavailable(why: string, facts: CrashFacts): void {
    this.#move('unavailable');
    this.#unavailableUntilMs = performance.now() + this.#policy.periodMs;
    const error = unavailableAfter(why, facts);
    this.#unavailability = error;
    this.#requests.rejectAll(() => unavailableLike(error));
  }

  #move(to: WorkerState): void {
    const from = this.#state;
    if (from === to) return;
    this.#state = nextWorkerState(from, to);
    this.#log.debug('worker state', { from, to });
    diagnostics.state.publish({ from, to });
  }
}
