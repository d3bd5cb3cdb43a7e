import type { ApplicationSample } from '@drover/scale-link';
import { describe, expect, it } from 'vitest';
import { inputOf, SimulatedApplication } from './decisions.test.fixture.js';
import { conclude } from './conclude.js';
import type { ScaleInput } from './types.js';

/**
 * A function that computes `computeMs` per call, `clients` that call it in a loop, on a machine with so many cores. `isPaced`: the
 * runtime hands a worker one call at a time, as it does with workers that it can probe; otherwise workers get all calls.
 */
class ComputingApplication {
  readonly app: SimulatedApplication;
  readonly #cores: number;
  readonly #isPaced: boolean;
  #seconds = 0;

  constructor({ cores, isPaced, maxWorkers = 20 }: { cores: number; isPaced: boolean; maxWorkers?: number }) {
    this.app = new SimulatedApplication({ maxWorkers }, { workers: 1 });
    this.#cores = cores;
    this.#isPaced = isPaced;
  }

  get concurrency(): number {
    return this.app.last?.decision.facts.concurrency ?? 0;
  }

  /** The numbers of workers of so many seconds. CPU is measured a second late, as the lists of the provider are. */
  run(seconds: number, clients: number, computeMs = 200): number[] {
    return Array.from({ length: seconds }, () => {
      this.#seconds += 1;
      const { ready } = this.app;
      const running = Math.min(ready, clients, this.#cores);
      const cpu = this.#seconds < 2 ? 0.02 : running / ready;
      const input: Partial<ScaleInput> = { cores: this.#cores, cpuDemand: Math.min(1, clients / ready) };
      return this.app.step(
        () => this.#sample(clients, computeMs, cpu),
        this.#seconds < 2 ? { ...input, cpuDemand: 0.02 } : input,
      );
    });
  }

  #sample(clients: number, computeMs: number, cpu: number): Partial<ApplicationSample> {
    const { ready } = this.app;
    const parallel = Math.min(ready, clients, this.#cores);
    const perSecond = (parallel * 1_000) / computeMs;
    const inFlight = this.#isPaced ? Math.min(ready, clients) : clients;
    return {
      inFlight,
      waiting: clients - inFlight,
      capacity: this.#isPaced ? ready : ready * 100,
      readyWorkers: ready,
      computingWorkers: this.#isPaced ? Math.min(ready, clients) : 0,
      arrivals: perSecond,
      completions: perSecond,
      meanServiceMs: clients === 0 ? undefined : (inFlight / parallel) * computeMs,
      cpu,
    };
  }
}

describe('an application that computes', () => {
  it('gets a worker for each core within two decisions, and none more', () => {
    const computing = new ComputingApplication({ cores: 2, isPaced: true });
    const numbers = computing.run(60, 4);
    expect(numbers.slice(0, 3)).toEqual([2, 2, 2]);
    expect(Math.max(...numbers)).toBe(2);
    expect(computing.concurrency).toBe(1);
  });

  it('gets no more workers than calls, however many cores there are', () => {
    const computing = new ComputingApplication({ cores: 64, isPaced: true });
    expect(Math.max(...computing.run(60, 4))).toBe(4);
    expect(computing.app.ready).toBe(4);
  });

  it('keeps one worker for one client', () => {
    const computing = new ComputingApplication({ cores: 64, isPaced: true });
    expect(Math.max(...computing.run(60, 1))).toBe(1);
  });

  it('is not answered with workers for its whole queue before CPU was measured', () => {
    const computing = new ComputingApplication({ cores: 4, isPaced: true });
    expect(Math.max(...computing.run(10, 200))).toBe(4);
  });

  it('gets a worker for each core also from a runtime that hands over all calls, by its CPU', () => {
    const computing = new ComputingApplication({ cores: 2, isPaced: false });
    computing.run(1, 1);
    const numbers = computing.run(60, 4);
    expect(numbers.slice(0, 3)).toContain(2);
    expect(Math.max(...numbers)).toBe(2);
    expect(computing.concurrency).toBeLessThan(2);
  });

  it('gets more workers than cores if its workers are held up without CPU', () => {
    const app = new SimulatedApplication({}, { workers: 1 });
    const held = (ready: number): Partial<ApplicationSample> => ({
      inFlight: Math.min(ready, 8),
      waiting: Math.max(0, 8 - ready),
      capacity: ready,
      readyWorkers: ready,
      computingWorkers: ready,
      arrivals: ready,
      completions: ready,
      meanServiceMs: 1_000,
      cpu: 0.01,
    });
    for (let second = 0; second < 20; second += 1) app.step(held, { cores: 2, cpuDemand: 0.01 });
    expect(app.ready).toBe(8);
  });

  it('is bound by its cores on a crowded machine, where its workers get little CPU and wait for more', () => {
    const app = new SimulatedApplication({}, { workers: 1 });
    const crowded = (ready: number): Partial<ApplicationSample> => ({
      inFlight: ready,
      waiting: 8 - ready,
      capacity: ready,
      readyWorkers: ready,
      computingWorkers: ready,
      arrivals: 2,
      completions: 2,
      meanServiceMs: 800,
      cpu: 0.2,
    });
    for (let second = 0; second < 20; second += 1) app.step(crowded, { cores: 2, cpuDemand: 0.97 });
    expect(app.ready).toBe(2);
  });
});

describe('the bounds of useful workers', () => {
  it('limit growth and take nothing away', () => {
    const app = new SimulatedApplication({ maxWorkers: 20 }, { workers: 8 });
    app.step(() => ({ inFlight: 1, arrivals: 1, completions: 1, meanServiceMs: 100, cpu: 1 }), { cores: 2 });
    expect(app.ready).toBe(8);
  });

  it('are named in the explanation', () => {
    const computing = new ComputingApplication({ cores: 2, isPaced: true });
    computing.run(5, 4);
    const { facts, clamps } = computing.app.last?.decision ?? {};
    expect(clamps?.map(({ clamp }) => clamp)).toContain('cores');
    expect(facts && conclude(facts, computing.app.policy).desired).toBe(2);
  });

  it('do not hold for an application that nothing is known of', () => {
    const app = new SimulatedApplication({});
    app.step(() => undefined, inputOf({ nowMs: app.nowMs + 1_000, wakes: ['event'], cores: 1 }));
    expect(app.ready).toBe(1);
  });
});
