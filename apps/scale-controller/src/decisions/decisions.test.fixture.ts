import type { ApplicationSample, TriggerSample } from '@drover/scale-link';
import { decide } from './decide.js';
import { defaultScalePolicy } from './policy.js';
import { initialScaleState } from './state.js';
import type { ScaleFacts, ScaleInput, ScaleOutcome, ScalePolicy, ScaleState } from './types.js';
import { scaleFactsOf } from './facts.js';

/** Monday, 2 November 2026, 00:00 UTC. */
export const monday = Date.UTC(2026, 10, 2);

export function sampleOf(values: Partial<ApplicationSample> = {}): ApplicationSample {
  return {
    application: 'default/hello',
    inFlight: 0,
    waiting: 0,
    capacity: 0,
    arrivals: 0,
    completions: 0,
    failures: 0,
    meanServiceMs: undefined,
    p95ServiceMs: undefined,
    versions: {},
    cpu: undefined,
    memory: undefined,
    isBackpressured: false,
    triggers: [],
    ...values,
  };
}

export function triggerOf(values: Partial<TriggerSample> = {}): TriggerSample {
  return { functionName: 'orders', type: 'queueTrigger', waiting: 0, ...values };
}

export function inputOf(values: Partial<ScaleInput> = {}): ScaleInput {
  const nowMs = values.nowMs ?? monday;
  return {
    nowMs,
    sample: undefined,
    sampleAtMs: nowMs,
    workers: { ready: 0, starting: 0, draining: 0 },
    wakes: [],
    startMs: 200,
    runtimeMemory: undefined,
    cores: undefined,
    cpuDemand: undefined,
    ...values,
  };
}

export const policyWith = (values: Partial<ScalePolicy> = {}): ScalePolicy => ({ ...defaultScalePolicy, ...values });

/** Facts of an application with `ready` workers to which nothing happens, and what differs. */
export function factsWith(ready: number, values: Partial<ScaleFacts> = {}): ScaleFacts {
  const state = initialScaleState(ready, monday);
  const sample = sampleOf({ capacity: ready * 10 });
  const facts = scaleFactsOf(
    state,
    inputOf({ sample, workers: { ready, starting: 0, draining: 0 } }),
    defaultScalePolicy,
  );
  return { ...facts, stabilizedWorkers: 0, concurrency: 10, ...values };
}

/**
 * An application whose workers are ready one second after they were asked for, decided about each second. `step` gives the sample of the
 * second, from the workers that are ready.
 */
export class SimulatedApplication {
  nowMs = monday;
  state: ScaleState | undefined;
  ready = 0;
  last: ScaleOutcome | undefined;
  readonly policy: ScalePolicy;

  constructor(policy: Partial<ScalePolicy> = {}, start?: { readonly workers: number }) {
    this.policy = policyWith(policy);
    if (start) this.state = initialScaleState(start.workers, this.nowMs);
    this.ready = start?.workers ?? 0;
  }

  step(sample: (ready: number) => Partial<ApplicationSample> | undefined, input: Partial<ScaleInput> = {}): number {
    this.nowMs += 1_000;
    const values = sample(this.ready);
    const workers = { ready: this.ready, starting: 0, draining: 0 };
    const known = values && { sample: sampleOf({ capacity: this.ready * 10, ...values }) };
    this.last = decide(this.state, inputOf({ nowMs: this.nowMs, workers, ...known, ...input }), this.policy);
    this.state = this.last.state;
    this.ready = this.state.desired;
    return this.state.desired;
  }

  /** The numbers of workers of so many seconds. */
  run(seconds: number, sample: (ready: number) => Partial<ApplicationSample> | undefined): number[] {
    return Array.from({ length: seconds }, () => this.step(sample));
  }
}

/** A constant load of concurrent invocations that the workers manage. */
export const loadOf =
  (concurrent: number): (() => Partial<ApplicationSample>) =>
  () => ({
    inFlight: concurrent,
    arrivals: concurrent * 10,
    completions: concurrent * 10,
    meanServiceMs: 100,
  });
