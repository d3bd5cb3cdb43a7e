import { seededRandomness } from '@drover/testkit';

/** A load on one application, second by second. */
export interface Trace {
  readonly name: string;
  readonly about: string;
  readonly seconds: number;
  /** Duration of one invocation. */
  readonly serviceMs: number;
  /** Concurrent invocations of one worker. */
  readonly concurrency: number;
  /** Time from decision to ready worker. */
  readonly startMs: number;
  /** Longest wait that is no miss. */
  readonly waitLimitMs: number;
  /** Whether events wait in a queue that is measured, or in the runtime. */
  readonly isQueue: boolean;
  /** Mean number of events that arrive in a second. */
  readonly arrivals: (second: number) => number;
  /** Arrivals are exactly the mean, not random around it. */
  readonly isExact?: boolean;
}

/** What a scaler can see once a second. */
export interface TraceView {
  readonly nowMs: number;
  readonly ready: number;
  readonly starting: number;
  readonly inFlight: number;
  readonly waiting: number;
  readonly oldestWaitMs: number;
  readonly arrivals: number;
  readonly completions: number;
  readonly trace: Trace;
}

/** A way to decide the number of workers. */
export interface TraceScaler {
  /** Called each second. Returns how many workers there shall be. */
  readonly tick: (view: TraceView) => number;
  /** Called when an event arrives and there is no worker; undefined: the scaler notices at its next tick. */
  readonly wake?: (view: TraceView) => number;
}

export interface TraceScore {
  /** Events that arrived when no worker was ready. */
  readonly coldStarts: number;
  /** Seconds of all workers together, starting ones included. */
  readonly instanceSeconds: number;
  /** Events that waited longer than the limit. */
  readonly misses: number;
  readonly events: number;
  readonly p99WaitMs: number;
  readonly mostWorkers: number;
  /** Changes of the number of workers. */
  readonly changes: number;
}

const stepMs = 100;
const stepsPerSecond = 1_000 / stepMs;

/** Monday, 00:00 UTC. */
const traceStartMs = Date.UTC(2026, 10, 2);

/** One application under a trace: events wait in order, workers take them as they have room. */
class TraceWorld {
  readonly #trace: Trace;
  #nowMs = traceStartMs;
  #ready = 0;
  readonly #startingAtMs: number[] = [];
  #inFlight = 0;
  /** Arrival times of events that wait, from `#head` on. */
  readonly #queue: number[] = [];
  #head = 0;
  /** Completions by step, as a ring over the duration of one invocation. */
  readonly #ends: number[];
  #step = 0;
  #arrivals = 0;
  #completions = 0;
  #desired = 0;
  readonly #waitsMs: number[] = [];
  #coldStarts = 0;
  #instanceSteps = 0;
  #mostWorkers = 0;
  #changes = 0;

  constructor(trace: Trace) {
    this.#trace = trace;
    this.#ends = Array.from({ length: Math.max(1, Math.round(trace.serviceMs / stepMs)) + 1 }, () => 0);
  }

  get hasNoWorker(): boolean {
    return this.#ready + this.#startingAtMs.length === 0;
  }

  view(): TraceView {
    const oldest = this.#queue[this.#head];
    return {
      nowMs: this.#nowMs,
      ready: this.#ready,
      starting: this.#startingAtMs.length,
      inFlight: this.#inFlight,
      waiting: this.#queue.length - this.#head,
      oldestWaitMs: oldest === undefined ? 0 : this.#nowMs - oldest,
      arrivals: this.#arrivals,
      completions: this.#completions,
      trace: this.#trace,
    };
  }

  startSecond(): void {
    this.#arrivals = 0;
    this.#completions = 0;
  }

  arrive(events: number): void {
    this.#arrivals += events;
    if (this.#ready === 0) this.#coldStarts += events;
    for (let event = 0; event < events; event += 1) this.#queue.push(this.#nowMs);
  }

  scaleTo(desired: number): void {
    if (desired !== this.#desired) this.#changes += 1;
    this.#desired = desired;
    while (this.#ready + this.#startingAtMs.length < desired)
      this.#startingAtMs.push(this.#nowMs + this.#trace.startMs);
    while (this.#startingAtMs.length > 0 && this.#ready + this.#startingAtMs.length > desired) this.#startingAtMs.pop();
    // A worker that is given up finishes what it runs: capacity goes at once, and invocations end by themselves.
    this.#ready = Math.min(this.#ready, desired);
    this.#mostWorkers = Math.max(this.#mostWorkers, desired);
  }

  /** Nothing waits, runs or starts, so that a second without arrivals can pass in one step. */
  get isQuiet(): boolean {
    return this.#inFlight === 0 && this.#queue.length === this.#head && this.#startingAtMs.length === 0;
  }

  passQuietSecond(): void {
    this.#nowMs += 1_000;
    this.#instanceSteps += this.#ready * stepsPerSecond;
  }

  /** Lets a tenth of a second pass. */
  advance(): void {
    this.#nowMs += stepMs;
    this.#step += 1;
    while ((this.#startingAtMs[0] ?? Number.POSITIVE_INFINITY) <= this.#nowMs) {
      this.#startingAtMs.shift();
      this.#ready += 1;
    }
    const slot = this.#step % this.#ends.length;
    const ended = this.#ends[slot] ?? 0;
    this.#ends[slot] = 0;
    this.#inFlight -= ended;
    this.#completions += ended;
    this.#take();
    const draining = Math.max(0, Math.ceil(this.#inFlight / this.#trace.concurrency) - this.#ready);
    this.#instanceSteps += this.#ready + this.#startingAtMs.length + draining;
  }

  #take(): void {
    const room = this.#ready * this.#trace.concurrency - this.#inFlight;
    const taken = Math.max(0, Math.min(room, this.#queue.length - this.#head));
    if (taken === 0) return;
    for (let event = 0; event < taken; event += 1) {
      this.#waitsMs.push(this.#nowMs - (this.#queue[this.#head] ?? 0) - stepMs);
      this.#head += 1;
    }
    this.#inFlight += taken;
    const last = (this.#step + this.#ends.length - 1) % this.#ends.length;
    this.#ends[last] = (this.#ends[last] ?? 0) + taken;
    if (this.#head > 10_000) this.#queue.splice(0, this.#head);
    if (this.#queue.length === 0 || this.#head > this.#queue.length) this.#head = 0;
  }

  score(): TraceScore {
    const sorted = this.#waitsMs.toSorted((a, b) => a - b);
    const unserved = this.#queue.length - this.#head;
    const limit = this.#trace.waitLimitMs;
    return {
      coldStarts: this.#coldStarts,
      instanceSeconds: Math.round(this.#instanceSteps / stepsPerSecond),
      misses: sorted.filter((waitMs) => waitMs > limit).length + unserved,
      events: sorted.length + unserved,
      p99WaitMs: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
      mostWorkers: this.#mostWorkers,
      changes: this.#changes,
    };
  }
}

/** Runs a scaler under a trace and scores it. The same seed gives the same arrivals to every scaler. */
export function scoreScaler(trace: Trace, scaler: TraceScaler, seed = 1): TraceScore {
  const world = new TraceWorld(trace);
  const random = seededRandomness(seed);
  const fraction = (): number => random.fraction();
  for (let second = 0; second < trace.seconds; second += 1) {
    world.startSecond();
    const mean = trace.arrivals(second);
    if (mean === 0 && world.isQuiet) world.passQuietSecond();
    else
      passSecond(world, scaler, (step) =>
        trace.isExact ? exactly(mean, step) : poisson(mean / stepsPerSecond, fraction),
      );
    world.scaleTo(scaler.tick(world.view()));
  }
  return world.score();
}

function passSecond(world: TraceWorld, scaler: TraceScaler, arrivals: (step: number) => number): void {
  for (let step = 0; step < stepsPerSecond; step += 1) {
    const events = arrivals(step);
    if (events > 0) {
      world.arrive(events);
      if (world.hasNoWorker && scaler.wake) world.scaleTo(scaler.wake(world.view()));
    }
    world.advance();
  }
}

const exactly = (mean: number, step: number): number => (step === 0 ? mean : 0);

function poisson(mean: number, fraction: () => number): number {
  if (mean <= 0) return 0;
  const limit = Math.exp(-mean);
  let product = fraction();
  let count = 0;
  while (product > limit) {
    product *= fraction();
    count += 1;
  }
  return count;
}
