import { describe, expect, it } from 'vitest';
import { WorkerPace } from './worker-pace.js';

/**
 * A worker behind the pace: it begins calls in order, computes each for `computeMs` in which nothing else happens, and answers
 * `waitMs` later. What it is handed is decided as the router does.
 */
class SimulatedWorker {
  readonly pace = new WorkerPace();
  nowMs = 0;
  reserved = 0;
  /** Most calls that were handed over and had not begun. */
  mostAhead = 0;
  #loopFreeMs = 0;
  #ahead = 0;
  readonly #events: { readonly atMs: number; readonly run: () => void }[] = [];

  /** Hands over as many of `calls` as the pace allows, whenever it allows, and returns how long all took. */
  run(calls: number, { computeMs, waitMs = 0, limit = 100 }: { computeMs: number; waitMs?: number; limit?: number }) {
    const startedMs = this.nowMs;
    let left = calls;
    for (;;) {
      while (left > 0 && this.reserved < limit && this.pace.mayTake(this.reserved)) {
        left -= 1;
        this.#handOver(computeMs, waitMs);
      }
      const next = this.#events.toSorted((a, b) => a.atMs - b.atMs)[0];
      if (!next) break;
      this.#events.splice(this.#events.indexOf(next), 1);
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.run();
    }
    if (left > 0) throw new Error(`${left} calls were never handed over`);
    return this.nowMs - startedMs;
  }

  #handOver(computeMs: number, waitMs: number): void {
    this.reserved += 1;
    this.#ahead += 1;
    this.mostAhead = Math.max(this.mostAhead, this.#ahead);
    const sentMs = this.nowMs;
    const call = this.pace.sent();
    const beginsMs = Math.max(this.#loopFreeMs, sentMs + connectionMs);
    this.#loopFreeMs = beginsMs + computeMs;
    this.#events.push({ atMs: beginsMs, run: () => (this.#ahead -= 1) });
    this.#events.push({
      atMs: beginsMs + computeMs + waitMs,
      run: () => {
        this.pace.answered(call, this.nowMs - sentMs);
        this.reserved -= 1;
      },
    });
    if (this.pace.startProbe(sentMs))
      this.#events.push({ atMs: this.#loopFreeMs + connectionMs, run: () => this.pace.probed(this.nowMs) });
  }
}

const connectionMs = 0.2;

describe('the pace of a worker', () => {
  it('hands one call at a time to a worker that computes', () => {
    const worker = new SimulatedWorker();
    const tookMs = worker.run(100, { computeMs: 50 });
    expect(worker.mostAhead).toBe(1);
    expect(tookMs).toBeLessThan(100 * 50 * 1.02);
    expect(worker.pace.concurrency(100, worker.nowMs)).toBeCloseTo(1);
    expect(worker.pace.isComputing(worker.nowMs)).toBe(true);
  });

  it('hands short calls over ahead, so that the worker does not wait for the connection', () => {
    const worker = new SimulatedWorker();
    const tookMs = worker.run(200, { computeMs: 6 });
    expect(worker.mostAhead).toBe(3);
    expect(tookMs).toBeLessThan(200 * 6 * 1.01);
  });

  it('lets a worker that waits have all its slots, after a few round trips', () => {
    const worker = new SimulatedWorker();
    const tookMs = worker.run(300, { computeMs: 0.02, waitMs: 500 });
    expect(tookMs).toBeLessThan(3 * 500 + 50);
    expect(worker.pace.concurrency(100, worker.nowMs)).toBe(100);
    expect(worker.pace.isComputing(worker.nowMs)).toBe(false);
  });

  it('does not take a worker for one that computes because its first call was slow', () => {
    const worker = new SimulatedWorker();
    worker.run(1, { computeMs: 80 });
    expect(worker.pace.isComputing(worker.nowMs)).toBe(false);
    expect(worker.pace.concurrency(100, worker.nowMs)).toBe(100);
    worker.run(1, { computeMs: 80 });
    expect(worker.pace.isComputing(worker.nowMs)).toBe(true);
  });

  it('probes a quick worker four times a second', () => {
    const pace = new WorkerPace();
    let probes = 0;
    for (let nowMs = 0; nowMs < 1_000; nowMs += 1) {
      const call = pace.sent();
      const isProbed = pace.startProbe(nowMs);
      if (isProbed) probes += 1;
      // Each probe takes longer than the one before, and than calls.
      if (isProbed) pace.probed(nowMs + 0.3 + nowMs / 1_000);
      pace.answered(call, 0.2);
    }
    expect(probes).toBe(4);
  });

  it('learns that a quick worker computes now, although few calls run, and that it is quick again', () => {
    const worker = new SimulatedWorker();
    worker.run(500, { computeMs: 0.02 });
    expect(worker.pace.concurrency(100, worker.nowMs)).toBe(100);
    worker.nowMs += 250;
    worker.run(1, { computeMs: 200 });
    expect(worker.pace.mayTake(1)).toBe(true);
    worker.run(1, { computeMs: 200 });
    expect(worker.pace.mayTake(1)).toBe(false);
    expect(worker.pace.concurrency(100, worker.nowMs)).toBe(1);
    worker.run(50, { computeMs: 0.02 });
    expect(worker.pace.concurrency(100, worker.nowMs)).toBe(100);
  });

  it('is known to be slow while the first probe waits for its answer', () => {
    const pace = new WorkerPace();
    pace.sent();
    expect(pace.startProbe(0)).toBe(true);
    expect(pace.concurrency(100, 1)).toBe(100);
    expect(pace.concurrency(100, 1_000)).toBe(1);
    expect(pace.isComputing(1_000)).toBe(true);
  });

  it('counts half computing, half waiting calls as two', () => {
    const worker = new SimulatedWorker();
    worker.run(40, { computeMs: 50, waitMs: 50 });
    expect(worker.pace.concurrency(100, worker.nowMs)).toBeCloseTo(2, 0);
  });

  it('asks for another probe when calls were sent behind the one that was answered', () => {
    const pace = new WorkerPace();
    pace.answered(pace.sent(), 100);
    pace.sent();
    expect(pace.startProbe(0)).toBe(true);
    pace.sent();
    expect(pace.startProbe(0)).toBe(false);
    pace.probed(100);
    expect(pace.mayTake(2)).toBe(false);
    expect(pace.startProbe(100)).toBe(true);
    pace.probed(100.1);
    expect(pace.mayTake(2)).toBe(true);
  });

  it('frees the places of calls that got no answer, begun or not', () => {
    const pace = new WorkerPace();
    const first = pace.sent();
    pace.startProbe(0);
    const second = pace.sent();
    pace.probed(100);
    pace.gaveUp(second);
    pace.gaveUp(first);
    expect(pace.mayTake(0)).toBe(true);
    const third = pace.sent();
    expect(pace.mayTake(1)).toBe(false);
    pace.answered(third, 100);
    expect(pace.mayTake(0)).toBe(true);
    expect(pace.mayTake(1)).toBe(false);
  });
});
