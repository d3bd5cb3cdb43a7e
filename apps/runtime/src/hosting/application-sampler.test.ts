import { FakeClock } from '@drover/testkit';
import type { Backlog } from '@drover/trigger-sources';
import { describe, expect, it } from 'vitest';
import { ApplicationSampler } from './application-sampler.js';
import type { ParkableApplication } from './parkable-application.js';

const never = new AbortController().signal;
const atRest = {
  arrivals: 0,
  completions: 0,
  failures: 0,
  meanServiceMs: undefined,
  p95ServiceMs: undefined,
  versions: {},
};

/** An application with one open job host: functions by their trigger type, and what measuring each of them answers. */
function applicationOf(
  triggers: Readonly<Record<string, (() => Promise<Backlog>) | undefined>>,
  isDisabled = false,
): ParkableApplication {
  const functions = Object.keys(triggers).map((type) => ({ name: `On${type}`, trigger: { type }, isDisabled }));
  const host = {
    functions: new Map(functions.map((definition) => [definition.name, definition])),
    triggers: Object.entries(triggers).flatMap(([type, measure]) =>
      measure ? [{ functionName: `On${type}`, type, listener: { measure } }] : [],
    ),
    isSaturated: false,
  };
  const application = {
    name: 'default/app',
    isParked: false,
    meter: { read: () => atRest },
    hosts: [{ key: 'default/app:1', host, workers: 0, waiting: 0 }],
  };
  return application as unknown as ParkableApplication; // the parts that a sample is made of
}

async function triggersOf(application: ParkableApplication) {
  const sampler = new ApplicationSampler({
    registry: { in: () => [] } as unknown as ConstructorParameters<typeof ApplicationSampler>[0]['registry'], // no workers
    tracker: { countOf: () => 0 },
    clock: new FakeClock(),
  });
  const [sample] = await sampler.sample([application], never);
  return sample?.triggers;
}

describe('the sample of an application', () => {
  it('has the backlog, its target and its bound for each trigger', async () => {
    const lag = { waiting: 40, oldestAgeMs: 5, lagByPartition: { 0: 40 }, maxUsefulWorkers: 4, targetPerWorker: 100 };
    expect(await triggersOf(applicationOf({ eventhubtrigger: () => Promise.resolve(lag) }))).toEqual([
      {
        functionName: 'Oneventhubtrigger',
        type: 'eventHubTrigger',
        waiting: 40,
        oldestAgeMs: 5,
        maxUsefulWorkers: 4,
        targetPerWorker: 100,
      },
    ]);
  });

  it('names HTTP functions, which have no bound, so that that of another trigger does not hold for them', async () => {
    const timer = { waiting: 0, oldestAgeMs: undefined, maxUsefulWorkers: 1 };
    const triggers = { timerTrigger: () => Promise.resolve(timer), httpTrigger: undefined };
    expect(await triggersOf(applicationOf(triggers))).toEqual([
      { functionName: 'OnhttpTrigger', type: 'httpTrigger' },
      { functionName: 'OntimerTrigger', type: 'timerTrigger', waiting: 0, maxUsefulWorkers: 1 },
    ]);
    expect(await triggersOf(applicationOf({ httpTrigger: undefined }, true))).toEqual([]);
  });

  it('has a problem for what could not be measured, and none for events that are pushed', async () => {
    const triggers = {
      queueTrigger: () => Promise.reject(new Error('away')),
      eventGridTrigger: () => Promise.reject(Object.assign(new Error('pushed'), { code: 'TRIGGER_BACKLOG_UNKNOWN' })),
    };
    expect(await triggersOf(applicationOf(triggers))).toEqual([
      { functionName: 'OnqueueTrigger', type: 'queueTrigger', problem: 'away' },
      { functionName: 'OneventGridTrigger', type: 'eventGridTrigger' },
    ]);
  });
});
