import type { ApplicationSample, RuntimeMessage } from '@drover/scale-link';
import { applicationSample } from '@drover/scale-link/testing';
import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { SampleLoop } from './sample-loop.js';

class Trial {
  readonly clock = new FakeClock();
  readonly sent: RuntimeMessage[] = [];
  readonly link = { isAttached: true, send: (message: RuntimeMessage) => this.sent.push(message) > 0 };
  measured = 0;
  measure: () => Promise<readonly ApplicationSample[]> = () => Promise.resolve([]);
  readonly loop = new SampleLoop({
    clock: this.clock,
    link: this.link,
    memory: () => 0.25,
    sample: () => {
      this.measured += 1;
      return this.measure();
    },
  });
}

describe('the sample loop', () => {
  it('sends one sample each second, an empty one while everything rests', async () => {
    const trial = new Trial();
    await trial.loop.start();
    await trial.clock.advance(1_000);
    const application = applicationSample({ waiting: 3 });
    trial.measure = () => Promise.resolve([application]);
    await trial.clock.advance(1_000);
    expect(trial.sent).toEqual([
      { kind: 'sample', atMs: Date.UTC(2030, 0, 1, 0, 0, 1), memory: 0.25, applications: [] },
      { kind: 'sample', atMs: Date.UTC(2030, 0, 1, 0, 0, 2), memory: 0.25, applications: [application] },
    ]);
    await trial.loop.stop();
    await trial.clock.advance(5_000);
    expect(trial.sent).toHaveLength(2);
  });

  it('does not measure while the link is detached, and goes on after a sample that failed', async () => {
    const trial = new Trial();
    trial.link.isAttached = false;
    await trial.loop.start();
    await trial.clock.advance(3_000);
    expect(trial.measured).toBe(0);
    trial.link.isAttached = true;
    trial.measure = () => Promise.reject(new Error('a source is away'));
    await trial.clock.advance(1_000);
    trial.measure = () => Promise.resolve([]);
    await trial.clock.advance(1_000);
    expect(trial.sent).toHaveLength(1);
    await trial.loop.stop();
  });

  it('begins no second sample while one is measured', async () => {
    const trial = new Trial();
    let finish: () => void = () => undefined;
    trial.measure = () => new Promise((resolve) => (finish = () => resolve([])));
    await trial.loop.start();
    await trial.clock.advance(3_500);
    expect(trial.measured).toBe(1);
    finish();
    await trial.clock.advance(0);
    await trial.clock.advance(0);
    expect(trial.measured).toBe(2);
    await trial.loop.stop();
  });
});
