import {
  BackpressureError,
  QuarantinedError,
  UnsupportedOptionError,
  WorkerClosedError,
  WorkerUnavailableError,
} from '../../types/errors.js';
import type { PoolStats } from '../../types/pool.js';
import type { SendOptions } from '../../types/worker.js';
import type { RequestCallbacks } from '../pending-request.js';
import { Quarantine } from '../quarantine.js';
import { leastLoaded } from './least-loaded.js';
import { PoolQueue } from './pool-queue.js';
import { PoolRequest, type PoolRequestEvents } from './pool-request.js';
import type { PoolWorker } from './pool-worker.js';
import { settlePool, type AnyPoolOptions, type PoolSettings } from './pool-settings.js';
import { WorkerSet } from './worker-set.js';

/**
 * Requests for several workers. One goes to the least loaded worker that has room, or waits in the common queue; there it is
 * bounded. Once it has a worker, that worker's own crash handling decides about it, and only what that worker had not begun
 * with when it was lost comes back into the queue.
 */
export class PoolCore {
  readonly settings: PoolSettings;
  readonly #queue = new PoolQueue<PoolRequest>();
  readonly #workers: WorkerSet;
  readonly #quarantine: Quarantine;
  readonly #requestEvents: PoolRequestEvents;
  #unavailable: { readonly error: Error; readonly untilMs: number } | undefined;
  #lastLoss: Error | undefined;
  #accepting = true;
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
      onReturned: (request) => this.#takeBack(request),
      onLeft: (request) => {
        this.#queue.remove(request);
        this.#tellQuiet();
      },
      onKilled: ({ type, payload }, times) => {
        for (let kill = 0; kill < times; kill += 1) this.#quarantine.noteKill(type, payload, performance.now());
      },
    };
  }

  /** Resolves when the warm spares are ready; if they never are, nothing is left behind. */
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

  stats(): PoolStats {
    return {
      size: this.#workers.size,
      idle: this.#workers.count((worker) => worker.state === 'ready' && worker.load === 0),
      busy: this.#workers.count((worker) => worker.load > 0),
      pending: this.#queue.length,
      restarts: this.#workers.restarts,
      recycled: this.#workers.recycled,
    };
  }

  /** Takes a request; it will be settled exactly once through `callbacks`. */
  request(
    type: string,
    payload: unknown,
    options: SendOptions,
    callbacks: RequestCallbacks,
    credit: number,
  ): PoolRequest {
    const { requestMs, requestMsByType } = this.settings.worker;
    const limitMs = options.timeout ?? requestMsByType.get(type) ?? requestMs;
    const request = new PoolRequest({ type, payload, options, limitMs, credit }, callbacks, this.#requestEvents);
    const refusal = this.#refusal(type, payload, options);
    if (refusal) {
      request.refuse(refusal);
      return request;
    }
    const worker = this.#queue.length === 0 ? this.#choose() : undefined;
    if (worker) request.start(worker);
    else if (this.#queue.length >= this.settings.maxPending)
      request.refuse(new BackpressureError(this.settings.maxPending));
    else {
      request.wait();
      this.#queue.push(request);
    }
    this.#workers.fill(this.#queue.length);
    return request;
  }

  grant(request: PoolRequest, items: number): void {
    request.grant(items);
  }

  abandon(request: PoolRequest, reason: unknown): void {
    request.abandon(reason);
  }

  drain(deadline?: AbortSignal): Promise<void> {
    this.#accepting = false;
    if (this.#isQuiet() || deadline?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const finish = (): void => {
        deadline?.removeEventListener('abort', finish);
        resolve();
      };
      this.#whenQuiet.push(finish);
      deadline?.addEventListener('abort', finish, { once: true });
    });
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#end());
  }

  async #end(): Promise<void> {
    this.#accepting = false;
    for (const request of this.#queue.takeAll()) request.refuse(new WorkerClosedError());
    await this.#workers.close();
    this.#tellQuiet();
  }

  #refusal(type: string, payload: unknown, { signal, transfer }: SendOptions): Error | undefined {
    if (signal?.aborted) return signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason));
    if (!this.#accepting) return new WorkerClosedError();
    if (this.#unavailable && performance.now() < this.#unavailable.untilMs)
      return new WorkerUnavailableError(this.#unavailable.error.message);
    const { driver } = this.settings.worker;
    if (transfer && transfer.length > 0 && !driver.capabilities.transfer) {
      return new UnsupportedOptionError(
        `the driver ${driver.name} cannot transfer; leave transfer out or use workerThreads`,
      );
    }
    const kills = this.#quarantine.killsOf(type, payload, performance.now());
    return kills > 0 ? new QuarantinedError(type, kills) : undefined;
  }

  #choose(): PoolWorker | undefined {
    return leastLoaded(this.#workers.ready(), this.settings.concurrency);
  }

  /** Gives waiting requests to whoever has room, and starts whoever is missing. */
  #pump(): void {
    for (const wake of this.#whenChanged.splice(0)) wake();
    this.#dispatch();
    if (this.#accepting || this.#queue.length > 0) this.#workers.fill(this.#queue.length);
  }

  #dispatch(): void {
    while (this.#queue.length > 0) {
      const worker = this.#choose();
      if (!worker) break;
      this.#queue.shift()?.start(worker);
    }
    this.#tellQuiet();
  }

  #takeBack(request: PoolRequest): void {
    if (this.#closed) return request.refuse(new WorkerClosedError());
    if (this.#unavailable && performance.now() < this.#unavailable.untilMs)
      return request.refuse(new WorkerUnavailableError(this.#unavailable.error.message));
    request.wait();
    this.#queue.putBack(request);
    this.#pump();
  }

  #becomeUnavailable(error: Error, forMs: number): void {
    this.#unavailable = { error, untilMs: performance.now() + forMs };
    for (const request of this.#queue.takeAll()) request.refuse(new WorkerUnavailableError(error.message));
    this.#pump();
  }

  #isQuiet(): boolean {
    return this.#queue.length === 0 && this.#workers.count((worker) => worker.load > 0) === 0;
  }

  #tellQuiet(): void {
    if (this.#whenQuiet.length > 0 && this.#isQuiet()) for (const finish of this.#whenQuiet.splice(0)) finish();
  }
}
