import type { WorkerSample } from '../types/driver.js';
import type { DriverCapabilities } from '../types/driver.js';
import {
  BackpressureError,
  QuarantinedError,
  RequestTimeoutError,
  UnsupportedOptionError,
  WorkerClosedError,
  WorkerCrashedError,
  WorkerUnavailableError,
  type CrashFacts,
} from '../types/errors.js';
import type { Logger, SendOptions, WorkerState } from '../types/worker.js';
import { answerHostCall } from './answer-host-call.js';
import { blame, maxAttemptsFor, type Blame } from './blame.js';
import { diagnostics } from './diagnostics.js';
import { filteredLogger } from './filtered-logger.js';
import { LiveWorker, neverStarted } from './live-worker.js';
import { MemoryWatch } from './memory-watch.js';
import { applyMiddleware } from './middleware.js';
import { PendingRequest, type RequestCallbacks } from './pending-request.js';
import { Quarantine } from './quarantine.js';
import { RestartPolicy } from './restart-policy.js';
import { reviveError } from './revive-error.js';
import { Standby } from './standby.js';
import { TimeLimits } from './time-limits.js';
import { kind, type RequestExtra, type ToHost } from './wire/wire-message.js';
import { settle, type AnyWorkerOptions, type WorkerSettings } from './worker-settings.js';

/**
 * The host's side of one worker, through all its lives.
 *
 * Requests wait in `#waiting` until they are sent, then stand in `#sent` until they are answered. When the worker dies, those
 * it had not begun with go back to waiting, free of charge; those it had are suspects: rejected, or, where retry was asked for and
 * tries are left, put on `#probation`, from where they run one at a time with nothing beside them. So a request that kills its
 * worker ends up alone with its deed, and its neighbours are answered. A request whose caller gave up stands in `#givenUp` until
 * the worker is done with it: it may be what kills the worker, and then nobody else is to blame.
 *
 * Long, and one file all the same: where a request stands and what becomes of it when a worker dies is one set of rules.
 */
export class WorkerCore {
  readonly #options: AnyWorkerOptions;
  readonly #settings: WorkerSettings;
  readonly #log: Logger;
  readonly #policy: RestartPolicy;
  readonly #quarantine: Quarantine;
  readonly #waiting: PendingRequest[] = [];
  readonly #probation: PendingRequest[] = [];
  readonly #sent = new Map<number, PendingRequest>();
  readonly #givenUp = new Map<number, PendingRequest>();
  /** Answered, and on their way back through the middleware. */
  readonly #finishing = new Set<PendingRequest>();
  readonly #memory: MemoryWatch;
  readonly #limits: TimeLimits;
  readonly #standby: Standby | undefined;
  #state: WorkerState = 'starting';
  #live: LiveWorker;
  #nextId = 1;
  #nextTx = 1;
  #onTrial = false;
  #cancelRestart: (() => void) | undefined;
  #unavailableUntilMs = 0;
  #closed: Promise<void> | undefined;
  #drained: (() => void)[] = [];
  #draining = false;

  constructor(options: AnyWorkerOptions) {
    this.#options = options;
    this.#settings = settle(options);
    this.#log = filteredLogger(options.logger ?? console, options.logLevel ?? 'error');
    this.#policy = new RestartPolicy(options.restart);
    this.#quarantine = new Quarantine(options.quarantine);
    this.#memory = new MemoryWatch(this.#settings.maxMemoryMb, () => this.#sent.size > 0);
    this.#limits = new TimeLimits(this.#settings, (request, limitMs) => this.#expire(request, limitMs));
    this.#standby = this.#settings.standby ? new Standby(() => this.#spawn(), this.#log) : undefined;
    this.#live = this.#spawn();
  }

  /** Resolves when the first worker is ready; if it never is, nothing is left behind. */
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
    return this.#waiting.length + this.#probation.length + this.#sent.size + this.#finishing.size;
  }

  sample(): Promise<WorkerSample | undefined> {
    return this.#live.isReady ? this.#live.connection.sample() : Promise.resolve(undefined);
  }

  /** Takes a request; it will be settled exactly once through `callbacks`. */
  request(
    type: string,
    payload: unknown,
    options: SendOptions,
    callbacks: RequestCallbacks,
    credit: number,
  ): PendingRequest {
    const request = new PendingRequest(
      {
        type,
        payload,
        tx: this.#options.txIdGenerator?.({ type, payload }) ?? this.#nextTx++,
        maxAttempts: options.transfer ? 1 : maxAttemptsFor(this.#settings.unexpectedShutdown, type),
        traceparent: options.traceparent ?? this.#options.traceparent?.(),
        transfer: options.transfer,
        credit,
      },
      callbacks,
      this.#forget,
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
    this.#watch(request, options);
    this.#report(request);
    this.#waiting.push(request);
    if (this.#state === 'unavailable') this.#restart(0);
    this.#pump();
    return request;
  }

  /** The caller takes `items` more of a stream. */
  grant(request: PendingRequest, items: number): void {
    if (request.wireId !== 0 && !request.settled) this.#live.send([kind.credit, request.wireId, items]);
  }

  /** The caller wants no more: the handler's signal aborts. */
  abandon(request: PendingRequest, reason: unknown): void {
    if (request.settled) return;
    if (request.delivered && this.#live.isReady) {
      this.#givenUp.set(request.wireId, request);
      this.#live.send([kind.cancel, request.wireId]);
    }
    request.reject(reason);
  }

  recycle(): Promise<void> {
    const old = this.#live;
    if (this.#state !== 'ready') return Promise.resolve();
    old.retire();
    return old.connection.end(0);
  }

  drain(deadline?: AbortSignal): Promise<void> {
    if (this.#state !== 'closing' && this.#state !== 'closed') this.#draining = true;
    if (this.pending === 0 || deadline?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const finish = (): void => {
        deadline?.removeEventListener('abort', finish);
        remove(this.#drained, finish);
        resolve();
      };
      this.#drained.push(finish);
      deadline?.addEventListener('abort', finish);
    });
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#end());
  }

  async #end(): Promise<void> {
    this.#move('closing');
    this.#cancelRestart?.();
    this.#memory.stop();
    this.#rejectAll(() => new WorkerClosedError());
    this.#limits.stop();
    const { closeGraceMs } = this.#settings;
    await Promise.all([this.#live.end(closeGraceMs), this.#standby?.end(closeGraceMs)]);
    this.#move('closed');
  }

  #refusal(type: string, payload: unknown, { transfer }: SendOptions): Error | undefined {
    if (this.#draining || this.#state === 'closing' || this.#state === 'closed') return new WorkerClosedError();
    if (this.#state === 'unavailable' && performance.now() < this.#unavailableUntilMs) {
      return new WorkerUnavailableError('the worker died too often and is left alone for a while');
    }
    if (this.pending >= this.#settings.maxPending) return new BackpressureError(this.#settings.maxPending);
    if (transfer && transfer.length > 0 && !this.capabilities.transfer) {
      return new UnsupportedOptionError(
        `the driver ${this.#settings.driver.name} cannot transfer; leave transfer out or use workerThreads`,
      );
    }
    if (this.#quarantine.isEmpty) return undefined;
    const kills = this.#quarantine.killsOf(type, payload, performance.now());
    return kills > 0 ? new QuarantinedError(type, kills) : undefined;
  }

  /** Time limit and the caller's own signal. */
  #watch(request: PendingRequest, { timeout, signal }: SendOptions): void {
    this.#limits.watch(request, timeout);
    if (!signal) return;
    const giveUp = (): void => this.abandon(request, signal.reason);
    signal.addEventListener('abort', giveUp, { once: true });
    request.onSettled(() => signal.removeEventListener('abort', giveUp));
  }

  #expire(request: PendingRequest, limitMs: number): void {
    const { delivered } = request;
    this.abandon(request, new RequestTimeoutError(request.type, limitMs));
    if (this.#settings.recycleOnTimeout && delivered) void this.recycle();
  }

  /** One function for all requests, of whom there are many. */
  readonly #forget = (request: PendingRequest): void => {
    if (request.wireId !== 0) this.#sent.delete(request.wireId);
    else if (!this.#finishing.delete(request)) {
      remove(this.#waiting, request);
      remove(this.#probation, request);
    }
    if (this.#onTrial && this.#sent.size === 0) this.#onTrial = false;
    if (this.#waiting.length > 0 || this.#probation.length > 0) this.#pump();
    else if (this.#drained.length > 0 && this.pending === 0) for (const resolve of this.#drained.splice(0)) resolve();
  };

  /** Sends what may be sent: one from probation alone, else everything that waits. */
  #pump(): void {
    if (this.#state !== 'ready' || this.#onTrial) return;
    const suspect = this.#probation[0];
    if (suspect) {
      if (this.#sent.size > 0) return;
      this.#probation.shift();
      this.#onTrial = true;
      return this.#transmit(suspect);
    }
    while (this.#waiting.length > 0 && this.#sent.size < this.#settings.maxConcurrent && this.#state === 'ready') {
      const next = this.#waiting.shift();
      if (next) this.#transmit(next);
    }
  }

  #transmit(request: PendingRequest): void {
    const middleware = this.#options.middleware ?? [];
    this.#number(request);
    if (middleware.length === 0) return this.#put(request, request.payload);
    const { type, tx, wireId } = request;
    applyMiddleware(middleware, { direction: 'outgoing', type, tx, value: request.payload }).then(
      (payload) => {
        if (request.wireId !== wireId || request.settled) return;
        // Numbers grow in the order of the wire, which blame relies on; the middleware of a later one may have been quicker.
        this.#sent.delete(wireId);
        this.#number(request);
        this.#put(request, payload);
      },
      (error: unknown) => {
        if (request.wireId === wireId) request.reject(error);
      },
    );
  }

  #number(request: PendingRequest): void {
    request.wireId = this.#nextId++;
    this.#sent.set(request.wireId, request);
  }

  #put(request: PendingRequest, payload: unknown): void {
    const { wireId, type, attempt, traceparent = null, credit, transfer } = request;
    try {
      const extra: RequestExtra | 0 =
        attempt === 1 && traceparent === null && credit === 0 ? 0 : [attempt, traceparent, credit];
      if (payload === undefined) this.#live.send([kind.request, wireId, type, extra]);
      else this.#live.send([kind.request, wireId, type, extra, payload], transfer);
      request.delivered = true;
    } catch (error) {
      request.reject(error);
    }
  }

  #receive(message: ToHost): void {
    if (message[0] === kind.hostCall) return void answerHostCall(this.#live, this.#options.hostHandlers, message);
    const id = message[1] as number;
    const request = this.#sent.get(id);
    if (!request) {
      // settled meanwhile: it ran out of time or was given up
      if (message[0] === kind.result || message[0] === kind.error) this.#givenUp.delete(id);
      return;
    }
    switch (message[0]) {
      case kind.result:
        return this.#resolve(request, message[2]);
      case kind.error:
        return request.reject(reviveError(message[2]));
      case kind.progress:
        return this.#progress(request, message[2]);
      case kind.item:
        return request.item(message[2]);
      default:
        return undefined;
    }
  }

  /** A caller that cannot bear the news of its request does not get the rest of it either. */
  #progress(request: PendingRequest, value: unknown): void {
    try {
      request.progress(value);
    } catch (error) {
      this.abandon(request, error);
    }
  }

  #resolve(request: PendingRequest, value: unknown): void {
    const middleware = this.#options.middleware ?? [];
    if (middleware.length === 0) return request.resolve(value);
    const { type, tx } = request;
    this.#sent.delete(request.wireId);
    request.takeBack();
    this.#finishing.add(request);
    applyMiddleware(middleware.toReversed(), { direction: 'incoming', type, tx, value }).then(
      (changed) => request.resolve(changed),
      (error: unknown) => request.reject(error),
    );
  }

  #spawn(): LiveWorker {
    const live = new LiveWorker(this.#settings, {
      onMessage: (worker, message) => {
        if (worker === this.#live) this.#receive(message);
      },
      onShutdown: (worker, facts) => {
        if (worker === this.#live) this.#died(worker, facts);
        else this.#standby?.noteEnd(worker);
      },
    });
    live.ready.then(
      () => {
        if (live === this.#live) this.#becomeReady();
      },
      () => undefined, // its end is told as well, and decides what follows
    );
    return live;
  }

  #becomeReady(): void {
    if (this.#state === 'closing' || this.#state === 'closed') return;
    this.#move('ready');
    this.#memory.watch(this.#live);
    this.#pump();
    this.#standby?.fill();
  }

  /** The one place where the death of a worker is handled; a life ends once, so this runs once for each. */
  #died(worker: LiveWorker, facts: CrashFacts): void {
    this.#memory.stop();
    if (this.#state === 'closing' || this.#state === 'closed') return;
    const before = this.#state;
    const { suspects, bystanders } = this.#blame(worker);
    this.#log.warn('worker died', { ...facts, suspects: suspects.length, bystanders: bystanders.length });
    diagnostics.crash.publish({ ...facts, suspects: suspects.length, bystanders: bystanders.length });
    this.#move('restarting');
    this.#waiting.unshift(...bystanders);
    const [only] = suspects;
    if (suspects.length === 1 && only && !worker.isRetired) {
      this.#quarantine.noteKill(only.type, only.payload, performance.now());
    }
    for (const request of suspects) this.#judge(request, facts);
    // The first one never lived: whoever asked for it is told, and nobody else waits.
    if (before === 'starting') return this.#becomeUnavailable('the worker did not start', facts);
    this.#replace(facts, before === 'ready', worker.isRetired);
  }

  /** Takes everything back from a dead worker; what its callers gave up counts as suspect, but is settled. */
  #blame(worker: LiveWorker): Blame {
    const delivered = [...this.#givenUp.values(), ...this.#sent.values()]
      .filter((request) => request.delivered)
      .toSorted((one, other) => one.wireId - other.wireId);
    const undelivered = [...this.#sent.values()].filter((request) => !request.delivered);
    const { suspects, bystanders } = blame(delivered, (id) => worker.connection.hadStarted(id));
    this.#sent.clear();
    this.#givenUp.clear();
    this.#onTrial = false;
    const [lost, free] = partition(bystanders, ({ transfer }) => transfer !== undefined && transfer.length > 0);
    const again = [...free, ...undelivered].filter((request) => !request.settled);
    for (const request of [...suspects, ...lost, ...again]) request.takeBack();
    // What was handed over is gone with the worker, begun or not.
    return { suspects: [...suspects, ...lost], bystanders: again };
  }

  #judge(request: PendingRequest, facts: CrashFacts): void {
    const { type: messageType, attempt, maxAttempts } = request;
    if (request.settled) return;
    if (attempt >= maxAttempts || request.credit > 0) {
      return request.reject(new WorkerCrashedError(facts, { messageType, attempt, maxAttempts }));
    }
    request.attempt += 1;
    this.#probation.push(request);
  }

  #replace(facts: CrashFacts, wasReady: boolean, planned: boolean): void {
    if (!this.capabilities.reconnect) {
      this.#becomeUnavailable('the worker is gone and its driver cannot start another', facts);
      this.#unavailableUntilMs = Number.POSITIVE_INFINITY;
      return;
    }
    const decision = planned ? undefined : this.#policy.next(performance.now(), Math.random());
    if (decision && !decision.restart) {
      const { restarts, periodMs } = decision;
      return this.#becomeUnavailable(`the worker died ${restarts + 1} times within ${periodMs} ms`, facts);
    }
    const spare = wasReady ? this.#standby?.take() : undefined;
    if (spare) {
      this.#live = spare;
      return spare.isReady ? this.#becomeReady() : undefined; // else it tells when it is
    }
    this.#restart(decision?.delayMs ?? 0);
  }

  #restart(delayMs: number): void {
    this.#cancelRestart?.();
    this.#move('restarting');
    diagnostics.restart.publish({ delayMs });
    const begin = (): void => {
      this.#cancelRestart = undefined;
      try {
        this.#live = this.#spawn();
      } catch (error) {
        this.#replace(neverStarted(error), false, false);
      }
    };
    if (delayMs === 0) {
      // To start a process takes this thread some milliseconds: first whoever was rejected hears of it.
      const soon = setImmediate(begin);
      this.#cancelRestart = () => clearImmediate(soon);
      return;
    }
    const timer = setTimeout(begin, delayMs);
    this.#cancelRestart = () => clearTimeout(timer);
  }

  #becomeUnavailable(why: string, facts: CrashFacts): void {
    this.#move('unavailable');
    this.#unavailableUntilMs = performance.now() + this.#policy.periodMs;
    const last =
      facts.stderr.trim().split('\n').at(-1) || (facts.reason.type === 'error' ? facts.reason.error.message : '');
    this.#rejectAll(() => new WorkerUnavailableError(last ? `${why}: ${last}` : why));
  }

  #rejectAll(makeError: () => Error): void {
    const all = [...this.#sent.values(), ...this.#finishing, ...this.#probation, ...this.#waiting];
    this.#sent.clear();
    this.#finishing.clear();
    this.#probation.length = 0;
    this.#waiting.length = 0;
    for (const request of all) request.reject(makeError());
  }

  #move(to: WorkerState): void {
    if (this.#state === to) return;
    const from = this.#state;
    this.#state = to;
    this.#log.debug('worker state', { from, to });
    diagnostics.state.publish({ from, to });
  }

  #report(request: PendingRequest): void {
    if (!diagnostics.request.hasSubscribers && !diagnostics.settled.hasSubscribers) return;
    const { type, tx } = request;
    const startedMs = performance.now();
    diagnostics.request.publish({ type, tx, attempt: request.attempt });
    request.onSettled((failure) =>
      diagnostics.settled.publish({
        type,
        tx,
        attempt: request.attempt,
        durationMs: performance.now() - startedMs,
        ...failure,
      }),
    );
  }
}

function remove<T>(list: T[], item: T): void {
  const index = list.indexOf(item);
  if (index >= 0) list.splice(index, 1);
}

function partition<T>(list: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  return [list.filter(test), list.filter((item) => !test(item))];
}
