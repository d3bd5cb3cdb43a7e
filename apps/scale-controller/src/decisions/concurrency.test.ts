import { describe, expect, it } from 'vitest';
import { SimulatedApplication } from './decisions.test.fixture.js';

const served = (meanServiceMs: number, cpu: number) => () => ({
  inFlight: 18,
  completions: 100,
  arrivals: 100,
  meanServiceMs,
  cpu,
  capacity: 40,
  readyWorkers: 2,
});

describe('the concurrency that is planned with', () => {
  const planned = (app: SimulatedApplication): number => app.last?.decision.facts.concurrency ?? 0;

  it('falls to what congested workers serve, not below one, and recovers', () => {
    const app = new SimulatedApplication({ maxWorkers: 2, minWorkers: 2 }, { workers: 2 });
    app.run(20, served(50, 0.6));
    expect(planned(app)).toBe(20);
    app.run(10, served(400, 0.95));
    // Nine invocations per worker take eight times as long: one is served, the others wait.
    expect(planned(app)).toBeCloseTo(9 / 8, 1);
    app.run(120, served(400, 0.95));
    expect(planned(app)).toBeCloseTo(9 / 8, 1);
    app.run(5, served(4_000, 0.95));
    expect(planned(app)).toBe(1);
    app.run(60, served(50, 0.6));
    expect(planned(app)).toBe(20);
  });

  it('stays while workers wait for something slow: more of them would not help', () => {
    const app = new SimulatedApplication({ maxWorkers: 2, minWorkers: 2 }, { workers: 2 });
    app.run(20, served(50, 0.1));
    app.run(30, served(400, 0.1));
    expect(planned(app)).toBe(20);
  });

  it('takes the workers that the sample counted, not those that became ready since', () => {
    const app = new SimulatedApplication({ minWorkers: 4, maxWorkers: 4 }, { workers: 4 });
    app.step(served(50, 0.1));
    expect(planned(app)).toBe(20);
  });
});
