import {
  BackpressureError,
  QuarantinedError,
  UnsupportedOptionError,
  WorkerClosedError,
  type WorkerUnavailableError,
} from '../../types/errors.js';
import type { PoolStats } from '../../types/pool.js';
import type { RequestTimes } from '../../types/times.js';
import type { SendOptions } from '../../types/worker.js';
import { onAbort } from '../abort-listeners.js';
import { unavailableLike } from '../crash-report.js';
import type { RequestCallbacks } from '../pending-request.js';
import { ProcessHold } from '../process-hold.js';
import { Quarantine } from '../quarantine.js';
import { RequestQueue } from '../request-queue.js';
import { SlicedRejections } from '../sliced-rejections.js';
import { isLimit } from '../time-limits.js';
import { leastLoaded, packWorker, type PoolGrowth } from './choose-worker.js';
import { PoolRequest, type PoolRequestEvents } from './pool-request.js';
import type { PoolWorker } from './pool-worker.js';
import { settlePool, type AnyPoolOptions, type PoolSettings } from './pool-settings.js';
import { WorkerSet } from './worker-set.js';

/**
 * Distributes requests over several workers. A request goes to a worker chosen by the distribution, or waits in one bounded
 * queue. Once it has a worker, the crash handling of that worker decides about it; it returns to the head of the queue only if
 * the worker is lost before it began the request.
 */
export class PoolCore {
  readonly settings: PoolSettings;
  readonly #queue = new RequestQueue<PoolRequest>();
  /** Requests that left the queue to be refused. */
  readonly #doomed = new SlicedRejections<PoolRequest>((request, error) => {
    request.refuse(error);
    this.#notifyQuiet();
  });
  readonly #workers: WorkerSet;
  readonly #quarantine: Quarantine;
  readonly #requestEvents: PoolRequestEvents;
  #unavailable: { readonly error: Error; readonly untilMs: number } | undefined;
  #lastLoss: Error | undefined;
  #accepting = true;
  /** True while `#dispatch` runs: a request that fails at once must not start it again within itself. */
  #isDispatching = false;
  /** Set by `unref`. */
  #hold: ProcessHold | undefined;
  #closed: Promise<void> | undefined;
  #whenQuiet: (() => void)[] = [];
  #whenChanged: (() => void)[] = [];

  constructor(options: AnyPoolOptions) {
    this.settings = settlePool(options);
    this.#quarantine = new Quarantine(options.quarantine);
    this.#workers = new WorkerSet(this.settings, {
      onReady: () => this.#pump(),
      onLost: (error) => {
        this.#lastLoss = error;
        this.#pump();
      },
      onUnavailable: (error, forMs) => this.#becomeUnavailable(error, forMs),
    });
    this.#requestEvents = {
      onReleased: (worker) => {
        this.#workers.released(worker);
        this.#dispatch();
      },
      onReturned: (request) => this.#putBack(request),
      onLeft: (request) => {
        if (!this.#queue.remove(request)) this.#doomed.remove(request);
        this.settings.times.wait.record(performance.now() - request.sinceMs);
        this.#notifyQuiet();
      },
      onKilled: ({ type, payload }, times) => {
        for (let kill = 0; kill < times; kill += 1) this.#quarantine.recordKill(type, payload, performance.now());
      },
    };
  }

  /** Resolves when the warm spares are ready. Closes everything and rejects when they cannot be started. */
  async started(): Promise<void> {
    const { minIdle } = this.settings;
    this.#workers.fill(0);
    while (this.stats().idle < minIdle) {
      await new Promise<void>((resolve) => this.#whenChanged.push(resolve));
      const failure = this.#lastLoss;
      if (!failure) continue;
      await this.close();
      throw failure;
    }
  }

  get pids(): number[] {
    return this.#workers.all.flatMap(({ core }) => core.pid ?? []);
  }

  get times(): RequestTimes {
    return this.settings.times;
  }

  stats(): PoolStats {
    const { all, restarts, recycled } = this.#workers;
    let [idle, busy, abandoned] = [0, 0, 0];
    for (const worker of all) {
      if (worker.state === 'ready' && worker.load === 0) idle += 1;
      if (worker.wanted > 0) busy += 1;
      abandoned += worker.abandoned;
    }
    return {
      size: all.length,
      idle,
      busy,
      pending: this.#queue.length + this.#doomed.size,
      abandoned,
      restarts,
      recycled,
    };
  }

  /** Admits or rejects a request. It is settled exactly once, through `callbacks`. */
  request(
    type: string,
    payload: unknown,
    options: SendOptions,
    callbacks: RequestCallbacks,
    credit: number,
  ): PoolRequest {
    const { worker, maxPending, minIdle, distribution } = this.settings;
    const limitMs = options.timeout ?? worker.requestMsByType.get(type) ?? worker.requestMs;
    const nowMs = performance.now();
    const facts = { type, payload, options, limitMs, credit, sinceMs: nowMs };
    const request = new PoolRequest(facts, callbacks, this.#requestEvents);
    if (options.signal?.aborted) {
      request.refuse(options.signal.reason);
      return request;
    }
    const refusal = this.#refusal(type, payload, options);
    if (refusal) {
      request.refuse(refusal);
      return request;
    }
    const totalMs = options.totalTimeout ?? worker.totalMs;
    if (isLimit(totalMs)) request.limitTotal(totalMs);
    const free = this.#queue.length === 0 ? this.#choose(0, nowMs) : undefined;
    if (free) {
      request.start(free, nowMs);
      if (minIdle > 0) this.#workers.fill(this.#queue.length);
      return request;
    }
    if (this.#queue.length >= maxPending) {
      request.refuse(new BackpressureError(maxPending));
      return request;
    }
    request.wait();
    this.#queue.push(request);
    this.#hold?.update();
    if (distribution === 'pack') this.#dispatch(); // the longer queue may make a silent worker the better choice
    this.#workers.fill(this.#queue.length);
    return request;
  }

  grant(request: PoolRequest, items: number): void {
    request.grant(items);
  }

  abandon(request: PoolRequest, reason: unknown): void {
    request.abandon(reason);
  }

  resize(limits: { readonly size?: number; readonly concurrencyPerWorker?: number }): void {
    const { size = this.settings.size, concurrencyPerWorker = this.settings.concurrency } = limits;
    this.settings.size = size;
    this.settings.concurrency = concurrencyPerWorker;
    this.#pump();
  }

  /** With false, workers keep this process alive only while requests are pending; with true until the pool is closed. */
  setRef(isRef: boolean): void {
    if (this.#closed || isRef === (this.#hold === undefined)) return;
    this.#hold?.end();
    // Requests that have a worker are held by that.
    this.#hold = isRef ? undefined : new ProcessHold(() => this.#queue.length + this.#doomed.size > 0);
    this.#workers.setRef(isRef);
  }

  drain(deadline?: AbortSignal): Promise<void> {
    this.#accepting = false;
    if (this.#isQuiet() || deadline?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const finish = (): void => {
        ignoreDeadline?.();
        resolve();
      };
      this.#whenQuiet.push(finish);
      const ignoreDeadline = deadline && onAbort(deadline, finish);
    });
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#hold?.during(this.#end()) ?? this.#end());
  }

  async #end(): Promise<void> {
    this.#accepting = false;
    this.#doomed.add(this.#queue.takeAll(), () => new WorkerClosedError());
    await this.#workers.close();
    if (this.#doomed.size > 0) await new Promise<void>((resolve) => this.#whenQuiet.push(resolve));
    this.#hold?.end();
    this.#notifyQuiet();
  }

  #refusal(type: string, payload: unknown, { transfer }: SendOptions): Error | undefined {
    if (!this.#accepting) return new WorkerClosedError();
    const unavailable = this.#unavailability();
    if (unavailable) return unavailable;
    const { driver } = this.settings.worker;
    if (transfer && transfer.length > 0 && !driver.capabilities.transfer) {
      return new UnsupportedOptionError(
        `the driver ${driver.name} cannot transfer; leave transfer out or use workerThreads`,
      );
    }
    if (this.#quarantine.isEmpty) return undefined;
    const kills = this.#quarantine.killsOf(type, payload, performance.now());
    return kills > 0 ? new QuarantinedError(type, kills) : undefined;
  }

  #unavailability(): WorkerUnavailableError | undefined {
    if (!this.#unavailable) return undefined;
    if (performance.now() < this.#unavailable.untilMs) return unavailableLike(this.#unavailable.error);
    this.#unavailable = undefined;
    return undefined;
  }

  /** Returns the worker for the next request; `ahead` others wait. Undefined: it waits. */
  #choose(ahead: number, nowMs: number): PoolWorker | undefined {
    const { concurrency: limit, distribution } = this.settings;
    if (distribution === 'spread') return leastLoaded(this.#workers.all, limit);
    return packWorker(this.#workers.all, { limit, nowMs, ahead, growth: this.#growth });
  }

  readonly #growth = (): PoolGrowth => this.#workers.growth;

  /** Assigns waiting requests to workers with room, and starts the workers that are missing. */
  #pump(): void {
    for (const wake of this.#whenChanged.splice(0)) wake();
    this.#dispatch();
    if (this.#accepting || this.#queue.length > 0) this.#workers.fill(this.#queue.length);
  }

  #dispatch(): void {
    if (this.#isDispatching) return;
    this.#isDispatching = true;
    while (this.#queue.length > 0) {
      const nowMs = performance.now();
      const worker = this.#choose(this.#queue.length - 1, nowMs);
      if (!worker) break;
      this.#queue.shift()?.start(worker, nowMs);
    }
    this.#isDispatching = false;
    this.#notifyQuiet();
  }

  #putBack(request: PoolRequest): void {
    if (this.#closed) return request.refuse(new WorkerClosedError());
    const unavailable = this.#unavailability();
    if (unavailable) return request.refuse(unavailable);
    request.wait();
    this.#queue.putBack(request);
    this.#pump();
  }

  #becomeUnavailable(error: Error, forMs: number): void {
    this.#unavailable = { error, untilMs: performance.now() + forMs };
    this.settings.events.onUnavailable?.(error, forMs);
    this.#doomed.add(this.#queue.takeAll(), () => unavailableLike(error));
    this.#pump();
  }

  #isQuiet(): boolean {
    return (
      this.#queue.length === 0 && this.#doomed.size === 0 && !this.#workers.all.some((worker) => worker.wanted > 0)
    );
  }

  #notifyQuiet(): void {
    this.#hold?.update();
    if (this.#whenQuiet.length > 0 && this.#isQuiet()) for (const finish of this.#whenQuiet.splice(0)) finish();
  }
}
