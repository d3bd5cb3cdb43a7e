import type { Clock } from '@drover/service-kit';
import type { RoutableWorker } from '../workers/routable-worker.js';
import type { Reservation, RoutingPolicy } from './routing-policy.js';
import { TrafficSplit } from './traffic-split.js';

/** A call that waits this long for a worker fails: its caller can do better with an error than with more waiting. */
export const longestWaitMs = 120_000;

interface RouterOptions<Worker extends RoutableWorker> {
  /** Creates the policy of one code version. */
  readonly policy: () => RoutingPolicy<Worker>;
  readonly clock: Clock;
  /** Maximum length of the queue; calls beyond it are refused. */
  readonly maxWaiting: number;
}

export interface Wait<Worker extends RoutableWorker> {
  /** Cancels the wait. */
  readonly signal: AbortSignal | undefined;
  /** Deadline on the monotonic clock. */
  readonly dueMs: number;
  /** Workers that may be reserved; undefined for all. */
  readonly accepts?: ((worker: Worker) => boolean) | undefined;
}

interface QueuedCall<Worker extends RoutableWorker> extends Wait<Worker> {
  dueMs: number;
  readonly settle: (reservation: Reservation<Worker> | undefined) => void;
}

/**
 * Reserves workers for the invocations of one job host. Workers are grouped by code version, traffic is split between the
 * versions, and the policy chooses within a version. Calls that find no worker with room wait in a bounded FIFO queue: no slot is
 * free, or the workers with free slots compute and could not begin them. In the second case the free slots count as places of
 * the queue, and the router is saturated only when they are taken. A version without a share gets no calls; a version without a free slot passes its turn to the next version that has one. A queued call
 * whose filter accepts no free worker lets later ones pass.
 */
export class InvocationRouter<Worker extends RoutableWorker> {
  readonly #options: RouterOptions<Worker>;
  readonly #versions = new Map<string, RoutingPolicy<Worker>>();
  readonly #split = new TrafficSplit();
  readonly #queue = new Set<QueuedCall<Worker>>();
  #onSaturation: (isSaturated: boolean) => void = () => undefined;
  #onChange: () => void = () => undefined;
  #cancelTimer: (() => void) | undefined;
  /** When the timer fires: the earliest deadline in the queue. */
  #timerDueMs = Number.POSITIVE_INFINITY;
  #revision = 0;
  /** A router starts without workers. */
  #isSaturated = true;

  constructor(options: RouterOptions<Worker>) {
    this.#options = options;
  }

  get maxWaiting(): number {
    return this.#options.maxWaiting;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Number of workers that can be chosen. */
  get size(): number {
    return this.#sum((policy) => policy.size);
  }

  /** Changes whenever a worker is added or removed: facts about all workers can be cached until then. */
  get revision(): number {
    return this.#revision;
  }

  get free(): number {
    return this.#sum((policy) => policy.free);
  }

  /** Whether a worker with a free slot may not be handed a call now: calls wait for its pace, not for a worker. */
  get isPaced(): boolean {
    for (const policy of this.#versions.values()) if (policy.isPaced) return true;
    return false;
  }

  /** All workers that can be chosen, with or without a free slot. */
  *workers(): Iterable<Worker> {
    for (const policy of this.#versions.values()) yield* policy.workers();
  }

  /** Code versions that have a worker. */
  get versions(): Iterable<string> {
    return this.#versions.keys();
  }

  /** Calls back when the last free slot is reserved, and when one is free again. A new router is saturated. */
  onSaturation(callback: (isSaturated: boolean) => void): void {
    this.#onSaturation = callback;
  }

  /** Calls back whenever a worker was added, before queued calls are served, and whenever one was removed. */
  onChange(callback: () => void): void {
    this.#onChange = callback;
  }

  add(worker: Worker): void {
    let policy = this.#versions.get(worker.codeVersion);
    if (!policy) this.#versions.set(worker.codeVersion, (policy = this.#options.policy()));
    policy.add(worker);
    this.#revision += 1;
    this.#onChange();
    this.#serveQueue();
  }

  /** Stops choosing the worker. */
  remove(worker: Worker): void {
    const policy = this.#versions.get(worker.codeVersion);
    policy?.remove(worker);
    this.#revision += 1;
    if (policy?.size === 0) this.#versions.delete(worker.codeVersion);
    this.#onChange();
    if (this.#versions.size === 0) this.#shortenWaits();
    this.#updateSaturation();
  }

  /** Looks again whether the worker may be handed a call. */
  refresh(worker: Worker): void {
    this.#versions.get(worker.codeVersion)?.refresh(worker);
    this.#serveQueue();
  }

  /** Sets the share of each code version. An empty map gives every version the same share. */
  setTraffic(weights: ReadonlyMap<string, number>): void {
    this.#split.set(weights);
    this.#serveQueue();
  }

  /** Cancels all queued calls. */
  stop(): void {
    this.#cancelTimer?.();
    for (const call of this.#queue) this.#cancel(call);
  }

  /**
   * Reserves a worker without waiting. Returns undefined if no slot is free or calls are already queued. The caller must
   * call `release`.
   */
  reserve(accepts?: (worker: Worker) => boolean): Reservation<Worker> | undefined {
    return this.#queue.size > 0 ? undefined : this.#choose(accepts);
  }

  /**
   * Queues a call for the next free slot. Returns undefined if the queue is full. Resolves with undefined when the call is
   * cancelled or its deadline passes. All queued calls share one timer, set to the earliest deadline.
   */
  wait(wait: Wait<Worker>): Promise<Reservation<Worker> | undefined> | undefined {
    if (this.#queue.size >= this.#options.maxWaiting + (this.isPaced ? this.free : 0)) return undefined;
    const { signal, dueMs } = wait;
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve(undefined);
      const cancel = (): void => this.#cancel(call);
      const call: QueuedCall<Worker> = {
        ...wait,
        settle(reservation) {
          signal?.removeEventListener('abort', cancel);
          resolve(reservation);
        },
      };
      signal?.addEventListener('abort', cancel, { once: true });
      this.#queue.add(call);
      if (dueMs < this.#timerDueMs) this.#setTimer(dueMs);
      this.#serveQueue();
    });
  }

  /** A call that waited for the pace of a worker may have a late deadline. Without any worker it waits no longer than others. */
  #shortenWaits(): void {
    const dueMs = this.#options.clock.monotonicMs() + longestWaitMs;
    for (const call of this.#queue) call.dueMs = Math.min(call.dueMs, dueMs);
    if (this.#queue.size > 0 && dueMs < this.#timerDueMs) this.#setTimer(dueMs);
  }

  #cancel(call: QueuedCall<Worker>): void {
    if (this.#queue.delete(call)) call.settle(undefined);
  }

  #setTimer(dueMs: number): void {
    const { clock } = this.#options;
    this.#cancelTimer?.();
    this.#timerDueMs = dueMs;
    this.#cancelTimer = clock.after(Math.max(0, dueMs - clock.monotonicMs()), () => this.#expire());
  }

  /** The call that the timer was set for may have been served: then only the next deadline is determined. */
  #expire(): void {
    const nowMs = this.#options.clock.monotonicMs();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const call of this.#queue) {
      if (call.dueMs <= nowMs) this.#cancel(call);
      else nextMs = Math.min(nextMs, call.dueMs);
    }
    this.#timerDueMs = Number.POSITIVE_INFINITY;
    if (nextMs < Number.POSITIVE_INFINITY) this.#setTimer(nextMs);
    this.#updateSaturation();
  }

  #choose(accepts: ((worker: Worker) => boolean) | undefined): Reservation<Worker> | undefined {
    const reservation = this.#versions.size === 1 ? this.#chooseOnly(accepts) : this.#chooseByTurn(accepts);
    if (!reservation) return undefined;
    this.#updateSaturation();
    return {
      worker: reservation.worker,
      release: () => {
        reservation.release();
        this.#serveQueue();
      },
    };
  }

  /** With a single version there is nothing to split. */
  #chooseOnly(accepts: ((worker: Worker) => boolean) | undefined): Reservation<Worker> | undefined {
    for (const [version, policy] of this.#versions) {
      const weights = this.#split.weights;
      if (weights.size > 0 && !((weights.get(version) ?? 0) > 0)) return undefined;
      return policy.reserve(accepts);
    }
    return undefined;
  }

  #chooseByTurn(accepts: ((worker: Worker) => boolean) | undefined): Reservation<Worker> | undefined {
    const order = this.#split.order(this.#versions.keys());
    for (const version of order) {
      const reservation = this.#versions.get(version)?.reserve(accepts);
      if (!reservation) continue;
      this.#split.record(version, order);
      return reservation;
    }
    return undefined;
  }

  #serveQueue(): void {
    for (const call of this.#queue) {
      const reservation = this.#choose(call.accepts);
      if (!reservation && call.accepts) continue;
      if (!reservation) break;
      this.#queue.delete(call);
      call.settle(reservation);
    }
    this.#updateSaturation();
  }

  #updateSaturation(): void {
    const [queued, { free }] = [this.#queue.size, this];
    const isSaturated = free <= queued || (queued > 0 && !this.isPaced);
    if (isSaturated === this.#isSaturated) return;
    this.#isSaturated = isSaturated;
    this.#onSaturation(isSaturated);
  }

  #sum(of: (policy: RoutingPolicy<Worker>) => number): number {
    let sum = 0;
    for (const policy of this.#versions.values()) sum += of(policy);
    return sum;
  }
}
