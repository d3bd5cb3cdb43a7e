import type { Clock } from '@drover/service-kit';
import type { RoutableWorker } from '../workers/routable-worker.js';
import type { Reservation, RoutingPolicy } from './routing-policy.js';
import { TrafficSplit } from './traffic-split.js';

/** How many of those that wait are looked at when a place is given back: only sessions can make one wait behind its turn. */
const lookAhead = 64;

export interface RouterOptions<Worker extends RoutableWorker> {
  readonly policy: () => RoutingPolicy<Worker>;
  readonly clock: Clock;
  /** How many may wait for a place; more are refused. */
  readonly maxWaiting: number;
  /** Nobody has room any more, or somebody has again: listeners pause and go on. */
  readonly onSaturation?: (isSaturated: boolean) => void;
}

/** Somebody who waits for a place, how long, and who may call it off. */
export interface Wait {
  readonly sessionKey: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly dueMs: number;
}

interface Waiter<Worker extends RoutableWorker> extends Wait {
  readonly settle: (reservation: Reservation<Worker> | undefined) => void;
}

/**
 * Finds a worker for each invocation of one job host. Workers are grouped by code version, traffic is split between the
 * versions, and the policy chooses within one. Who finds no room waits in line, up to a limit. A version that has no share
 * gets nothing; one that has no room gives its turn to another that has.
 */
export class InvocationRouter<Worker extends RoutableWorker> {
  readonly #options: RouterOptions<Worker>;
  readonly #versions = new Map<string, RoutingPolicy<Worker>>();
  readonly #split = new TrafficSplit();
  readonly #waiting = new Set<Waiter<Worker>>();
  #isPaused = false;
  #cancelTimer: (() => void) | undefined;
  /** When the timer rings. */
  #ringsMs = Number.POSITIVE_INFINITY;
  #revision = 0;
  /** Nobody is there at first. */
  #isSaturated = true;

  constructor(options: RouterOptions<Worker>) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Workers that may be chosen. */
  get size(): number {
    return this.#sum((policy) => policy.size);
  }

  /** Another one whenever a worker came or went: what is known about all of them can be kept until then. */
  get revision(): number {
    return this.#revision;
  }

  get free(): number {
    return this.#sum((policy) => policy.free);
  }

  /** Code versions that have a worker. */
  get versions(): Iterable<string> {
    return this.#versions.keys();
  }

  get traffic(): ReadonlyMap<string, number> {
    return this.#split.weights;
  }

  add(worker: Worker): void {
    let policy = this.#versions.get(worker.codeVersion);
    if (!policy) this.#versions.set(worker.codeVersion, (policy = this.#options.policy()));
    policy.add(worker);
    this.#revision += 1;
    this.#seatWaiting();
  }

  /** It is not chosen again. */
  remove(worker: Worker): void {
    const policy = this.#versions.get(worker.codeVersion);
    policy?.remove(worker);
    this.#revision += 1;
    if (policy?.size === 0) this.#versions.delete(worker.codeVersion);
    this.#tellSaturation();
  }

  /** Shares by code version; none at all means that all have the same. */
  setTraffic(weights: ReadonlyMap<string, number>): void {
    this.#split.set(weights);
    this.#seatWaiting();
  }

  /** Nobody waits any more. */
  stop(): void {
    this.#cancelTimer?.();
    for (const waiter of this.#waiting) this.#leave(waiter);
  }

  /** Takes no turn while it is paused: whoever comes waits. */
  pause(): void {
    this.#isPaused = true;
    this.#tellSaturation();
  }

  resume(): void {
    this.#isPaused = false;
    this.#seatWaiting();
  }

  /** A place at once, or nothing. Those that wait go first. */
  reserve(sessionKey?: string): Reservation<Worker> | undefined {
    return this.#waiting.size > 0 ? undefined : this.#choose(sessionKey);
  }

  /**
   * A place when there is one; undefined when too many wait already. Resolves with nothing when it was called off or too
   * late. One timer serves all who wait: it rings for the one that is due first.
   */
  wait(wait: Wait): Promise<Reservation<Worker> | undefined> | undefined {
    if (this.#waiting.size >= this.#options.maxWaiting) return undefined;
    const { signal, dueMs } = wait;
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve(undefined);
      const leave = (): void => this.#leave(waiter);
      const waiter: Waiter<Worker> = {
        ...wait,
        settle(reservation) {
          signal?.removeEventListener('abort', leave);
          resolve(reservation);
        },
      };
      signal?.addEventListener('abort', leave, { once: true });
      this.#waiting.add(waiter);
      if (dueMs < this.#ringsMs) this.#ring(dueMs);
      this.#seatWaiting();
    });
  }

  #leave(waiter: Waiter<Worker>): void {
    if (this.#waiting.delete(waiter)) waiter.settle(undefined);
  }

  #ring(dueMs: number): void {
    const { clock } = this.#options;
    this.#cancelTimer?.();
    this.#ringsMs = dueMs;
    this.#cancelTimer = clock.after(Math.max(0, dueMs - clock.monotonicMs()), () => this.#dismissLate());
  }

  /** Who it rang for may have got a place meanwhile: then only the next one is looked for. */
  #dismissLate(): void {
    const nowMs = this.#options.clock.monotonicMs();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const waiter of this.#waiting) {
      if (waiter.dueMs <= nowMs) this.#leave(waiter);
      else nextMs = Math.min(nextMs, waiter.dueMs);
    }
    this.#ringsMs = Number.POSITIVE_INFINITY;
    if (nextMs < Number.POSITIVE_INFINITY) this.#ring(nextMs);
    this.#tellSaturation();
  }

  #choose(sessionKey: string | undefined): Reservation<Worker> | undefined {
    if (this.#isPaused) return undefined;
    const reservation = this.#versions.size === 1 ? this.#chooseOnly(sessionKey) : this.#chooseByTurn(sessionKey);
    if (!reservation) return undefined;
    this.#tellSaturation();
    return {
      worker: reservation.worker,
      release: () => {
        reservation.release();
        this.#seatWaiting();
      },
    };
  }

  /** The usual case costs no turns. */
  #chooseOnly(sessionKey: string | undefined): Reservation<Worker> | undefined {
    for (const [version, policy] of this.#versions) {
      const weights = this.#split.weights;
      if (weights.size > 0 && !((weights.get(version) ?? 0) > 0)) return undefined;
      return policy.reserve(sessionKey);
    }
    return undefined;
  }

  #chooseByTurn(sessionKey: string | undefined): Reservation<Worker> | undefined {
    const order = this.#split.order(this.#versions.keys());
    for (const version of order) {
      const reservation = this.#versions.get(version)?.reserve(sessionKey);
      if (!reservation) continue;
      this.#split.take(version, order);
      return reservation;
    }
    return undefined;
  }

  #seatWaiting(): void {
    let looked = 0;
    for (const waiter of this.#waiting) {
      if (looked >= lookAhead) break;
      const reservation = this.#choose(waiter.sessionKey);
      if (!reservation) {
        if (waiter.sessionKey === undefined) break;
        looked += 1;
        continue;
      }
      this.#waiting.delete(waiter);
      waiter.settle(reservation);
    }
    this.#tellSaturation();
  }

  #tellSaturation(): void {
    const isSaturated = this.#isPaused || this.#waiting.size > 0 || this.free === 0;
    if (isSaturated === this.#isSaturated) return;
    this.#isSaturated = isSaturated;
    this.#options.onSaturation?.(isSaturated);
  }

  #sum(of: (policy: RoutingPolicy<Worker>) => number): number {
    let sum = 0;
    for (const policy of this.#versions.values()) sum += of(policy);
    return sum;
  }
}
