import { FakeClock } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EndpointProbe } from './endpoint-probe.js';

/** A worker that answers, or does not until the time is over. */
class Worker {
  readonly id: string;
  readonly #clock: FakeClock;
  heardMs = -Infinity;
  isFrozen = false;
  asked = 0;

  constructor(id: string, clock: FakeClock) {
    this.id = id;
    this.#clock = clock;
  }

  answers(withinMs: number): Promise<boolean> {
    this.asked += 1;
    if (!this.isFrozen) return Promise.resolve(true);
    return new Promise((resolve) => this.#clock.after(withinMs, () => resolve(false)));
  }
}

describe('EndpointProbe', () => {
  let clock: FakeClock;
  let workers: Worker[];
  let probe: EndpointProbe;

  beforeEach(async () => {
    clock = new FakeClock();
    workers = [new Worker('w1', clock), new Worker('w2', clock)];
    probe = new EndpointProbe({ endpoints: () => workers, clock });
    await probe.start();
  });
  afterEach(async () => {
    const stopped = probe.stop();
    await clock.advance(2_000);
    await stopped;
  });

  const freeze = (...frozen: boolean[]): void => workers.forEach((worker, n) => (worker.isFrozen = frozen[n] === true));

  it('is ready while one worker answers, and names the others', async () => {
    freeze(true, false);
    await clock.advance(4_000);
    expect(probe.health()).toEqual({ isReady: true, problems: { 'collection worker w1': 'it does not answer' } });
  });

  it('is not ready within four seconds after all workers froze, and ready soon after one goes on', async () => {
    await clock.advance(60_000);
    expect(probe.health()).toEqual({ isReady: true, problems: {} });
    freeze(true, true);
    await clock.advance(4_000);
    expect(probe.health().isReady).toBe(false);
    expect(Object.keys(probe.health().problems)).toEqual(['collection worker w1', 'collection worker w2']);
    freeze();
    await clock.advance(2_500);
    expect(probe.health()).toEqual({ isReady: true, problems: {} });
  });

  it('is ready without collections', async () => {
    freeze(true, true);
    await clock.advance(4_000);
    workers = [];
    await clock.advance(2_500);
    expect(probe.health()).toEqual({ isReady: true, problems: {} });
  });

  it('leaves no timer when it stops', async () => {
    await clock.advance(1_000);
    await probe.stop();
    expect(clock.pending).toBe(0);
  });

  it('does not ask a worker that has just answered a request', async () => {
    for (let second = 0; second < 10; second += 1) {
      for (const worker of workers) worker.heardMs = clock.monotonicMs();
      await clock.advance(1_000);
    }
    expect(workers.map(({ asked }) => asked)).toEqual([0, 0]);
  });
});
