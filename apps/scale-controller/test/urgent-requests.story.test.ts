import { sampleDeployment } from '@drover/application-catalog/testing';
import { eventually } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ControllerTrial } from './controller-trial.test.fixture.js';

const applications = Array.from({ length: 40 }, (_, n) => `app-${n}`);
/** What is promised for an urgent request of a runtime. */
const answerWithinMs = 100;

let trial: ControllerTrial;
beforeEach(async () => {
  trial = await ControllerTrial.open();
});
afterEach(() => trial.close());

describe('urgent requests over the scale link', () => {
  it('are answered within 100 ms', async () => {
    for (const applicationId of applications) {
      await trial.catalog.deploy(sampleDeployment(1, { applicationId }));
      const row = [`acme/${applicationId}`];
      await trial.database.query('insert into drover.scale_applications (application, desired) values ($1, 0)', row);
    }
    const controller = await trial.startController({
      DROVER_PLACEHOLDERS_MIN: '10',
      DROVER_SCALE_MAX_WORKERS_TOTAL: '100',
    });
    const runtime = await trial.startRuntime([controller]);
    await eventually(() => runtime.hosted.size === applications.length);
    await eventually(() => runtime.states().filter((state) => state === 'placeholder').length === 10);
    const tookMs: number[] = [];
    for (const applicationId of applications) {
      const askedMs = performance.now();
      const answered = runtime.untilWorkerOf(`acme/${applicationId}`);
      runtime.wake(`acme/${applicationId}`);
      await answered;
      tookMs.push(performance.now() - askedMs);
    }
    const sorted = tookMs.toSorted((a, b) => a - b);
    const [median = 0] = sorted.slice(Math.floor(sorted.length / 2));
    expect(median, `all: ${sorted.map((ms) => ms.toFixed(1)).join()}`).toBeLessThan(answerWithinMs);
  });
});
