import { defineStates, type StateMachine } from '@drover/contracts';

/**
 * Of an endpoint as one gateway sees it.
 *
 * - HEALTHY: gets its share of the requests
 * - EJECTED: gets none until its time is over; while it hangs, until it answers again
 * - PROBING: one request shows whether it is well again
 */
export const endpointStates = defineStates('gateway-endpoint', {
  HEALTHY: ['EJECTED'],
  EJECTED: ['PROBING'],
  PROBING: ['HEALTHY', 'EJECTED'],
});

export interface EndpointPolicy {
  /** Ejects after as many gateway errors in a row, */
  readonly consecutiveErrors: number;
  /** or when this share of the requests of a window failed, if it had enough of them. */
  readonly errorShare: number;
  readonly leastRequests: number;
  readonly windowMs: number;
  /** The first ejection; the next ones take as many times as long, up to the longest. */
  readonly ejectionMs: number;
  readonly longestEjectionMs: number;
  /** Requests in flight at most. */
  readonly maxInFlight: number;
  /** A new endpoint gets its full share after this time. */
  readonly slowStartMs: number;
  /** Requests that the preferred endpoint of a route may have in flight beyond another one; 0: none is preferred. */
  readonly stickyRequests: number;
}

export const defaultEndpointPolicy: EndpointPolicy = {
  consecutiveErrors: 5,
  errorShare: 0.5,
  leastRequests: 20,
  windowMs: 10_000,
  ejectionMs: 5_000,
  longestEjectionMs: 60_000,
  maxInFlight: 1_024,
  slowStartMs: 10_000,
  stickyRequests: 32,
};

/** Returns how many requests stay together: fewer where another worker is likely to have a core of its own. */
export function stickyRequestsFor(cores: number): number {
  return cores <= 2 ? 32 : 8;
}

/**
 * How a request ended. `gateway-error`: a failed or broken connection, a timeout, or status 502, 503 or 504. `server-error`: another
 * status of 500 or more, which counts for the share of errors only: one request that always fails must not eject in five calls.
 * `abandoned`: it says nothing about the endpoint, because the client left or a kept connection had been closed.
 */
export type RequestOutcome = 'answered' | 'server-error' | 'gateway-error' | 'abandoned';

/** The part of a new value in the average of latencies. */
const latencyWeight = 0.1;
const leastShareOfStart = 0.1;
/** A failed request counts as one that took at least so long: errors are often fast, and must not attract requests. */
const failedLatencyMs = 250;
/** An average that no answer renews halves in this time: a slow endpoint is tried again. */
const halfLifeMs = 1_000;
/** As many other requests in flight add about the latency of a request that is alone: an estimate, not a measurement. */
const requestsPerLatency = 4;

/** What one gateway knows about one endpoint from the requests that it sent there. */
export class Endpoint {
  readonly id: string;
  readonly #policy: EndpointPolicy;
  readonly #state: StateMachine<'HEALTHY' | 'EJECTED' | 'PROBING'>;
  readonly #sinceMs: number;
  #inFlight = 0;
  #latencyMs = 0;
  /** What latencies would have been without other requests in flight. */
  #aloneMs = 0;
  #lastEndMs = 0;
  #errorsInRow = 0;
  #window = { fromMs: 0, requests: 0, errors: 0 };
  #ejections = 0;
  #ejectedUntilMs = 0;
  #isHung = false;

  constructor(
    id: string,
    policy: EndpointPolicy,
    nowMs: number,
    onMove?: (change: { from: string; to: string }) => void,
  ) {
    this.id = id;
    this.#policy = policy;
    this.#sinceMs = nowMs;
    this.#state = endpointStates.start('HEALTHY', onMove);
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get state(): 'HEALTHY' | 'EJECTED' | 'PROBING' {
    return this.#state.current;
  }

  /** It did not even answer the question whether it lives: a request would wait there without an end. */
  get isHung(): boolean {
    return this.#isHung;
  }

  get isFull(): boolean {
    return this.#inFlight >= this.#policy.maxInFlight;
  }

  /** Whether it may get a request now: an ejected one may get a single one when its time is over. */
  isOpen(nowMs: number): boolean {
    if (this.#state.is('HEALTHY')) return true;
    return this.#state.is('EJECTED') && nowMs >= this.#ejectedUntilMs && !this.#isHung;
  }

  /** The lower the better: time that a request is likely to take. */
  cost(nowMs: number): number {
    return (this.#inFlight + 1) * this.#estimate(this.#latencyMs, nowMs);
  }

  /** The latency of a request that is alone: of the endpoint itself, whatever its load is. */
  latencyAloneMs(nowMs: number): number {
    return this.#estimate(this.#aloneMs, nowMs);
  }

  /** Whether it has so many more requests in flight than another one that this should get some, whichever is preferred. */
  isClearlyBusierThan(other: Endpoint): boolean {
    return this.#inFlight - other.#inFlight >= this.#policy.stickyRequests;
  }

  /** An idle endpoint looks better with time, until one request renews what is known; those that come meanwhile must not follow it. */
  #estimate(averageMs: number, nowMs: number): number {
    const started = Math.min(1, Math.max(leastShareOfStart, (nowMs - this.#sinceMs) / this.#policy.slowStartMs));
    const idleMs = nowMs - this.#lastEndMs;
    const isForgotten = idleMs > halfLifeMs && this.#inFlight === 0;
    const latencyMs = isForgotten ? averageMs * 2 ** (-idleMs / halfLifeMs) : averageMs;
    return Math.max(latencyMs, 0.1) / started;
  }

  begin(nowMs: number): void {
    this.#inFlight += 1;
    if (this.#state.is('EJECTED') && nowMs >= this.#ejectedUntilMs) this.#state.move('PROBING');
  }

  end(outcome: RequestOutcome, latencyMs: number, nowMs: number): void {
    this.#inFlight -= 1;
    if (outcome === 'abandoned') return this.#learnNothing(nowMs);
    if (outcome === 'answered') this.recover(nowMs);
    this.#errorsInRow = outcome === 'gateway-error' ? this.#errorsInRow + 1 : 0;
    const tookMs = outcome === 'answered' ? latencyMs : Math.max(latencyMs, failedLatencyMs);
    const aloneMs = tookMs / (1 + this.#inFlight / requestsPerLatency);
    this.#latencyMs += this.#latencyMs === 0 ? tookMs : latencyWeight * (tookMs - this.#latencyMs);
    this.#aloneMs += this.#aloneMs === 0 ? aloneMs : latencyWeight * (aloneMs - this.#aloneMs);
    this.#lastEndMs = nowMs;
    this.#count(outcome, nowMs);
    this.#judge(outcome, nowMs);
  }

  /** It answers nothing at all: ejects it until `recover`. */
  ejectAsHung(nowMs: number): void {
    this.#isHung = true;
    if (!this.#state.is('EJECTED')) this.#eject(nowMs);
  }

  /** It answers again: ends its ejection if it hung. */
  recover(nowMs: number): void {
    if (!this.#isHung) return;
    this.#isHung = false;
    this.#ejectedUntilMs = nowMs;
    this.#state.move('PROBING');
    this.#state.move('HEALTHY');
  }

  /** The request that probed the endpoint told nothing: the next one may probe it. */
  #learnNothing(nowMs: number): void {
    if (!this.#state.is('PROBING') || this.#inFlight > 0) return;
    this.#ejectedUntilMs = nowMs;
    this.#state.move('EJECTED');
  }

  #count(outcome: RequestOutcome, nowMs: number): void {
    if (nowMs - this.#window.fromMs >= this.#policy.windowMs) this.#window = { fromMs: nowMs, requests: 0, errors: 0 };
    this.#window.requests += 1;
    if (outcome !== 'answered') this.#window.errors += 1;
  }

  #judge(outcome: RequestOutcome, nowMs: number): void {
    if (this.#state.is('PROBING')) {
      if (outcome !== 'answered') return this.#eject(nowMs);
      this.#window = { fromMs: nowMs, requests: 0, errors: 0 };
      return this.#state.move('HEALTHY');
    }
    if (!this.#state.is('HEALTHY')) return;
    const { consecutiveErrors, errorShare, leastRequests, longestEjectionMs } = this.#policy;
    const { requests, errors } = this.#window;
    if (this.#errorsInRow >= consecutiveErrors) return this.#eject(nowMs);
    if (requests >= leastRequests && errors > requests * errorShare) return this.#eject(nowMs);
    // Long healthy: the next ejection is a first one again.
    if (this.#ejections > 0 && nowMs - this.#ejectedUntilMs > longestEjectionMs) this.#ejections = 0;
  }

  #eject(nowMs: number): void {
    const { ejectionMs, longestEjectionMs } = this.#policy;
    this.#ejections += 1;
    this.#ejectedUntilMs = nowMs + Math.min(longestEjectionMs, ejectionMs * this.#ejections);
    this.#errorsInRow = 0;
    this.#state.move('EJECTED');
  }
}
