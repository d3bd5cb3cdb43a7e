import { percentText, secondsText } from './rule.js';
import type { ClampId, ScaleFacts, ScalePolicy } from './types.js';
import { workersForCalls, workersForCores } from './useful-workers.js';

/** A bound on what the rules want: one row of the table in docs/scaling.md. */
export interface ScalingClamp {
  readonly about: string;
  readonly say: (facts: ScaleFacts, policy: ScalePolicy) => string;
}

/** In the order in which they apply. */
export const scalingClamps: Readonly<Record<ClampId, ScalingClamp>> = {
  tolerance: {
    about: 'a need within ±10 % of the present number changes nothing',
    say: (_, policy) => `the need is within ${percentText(policy.tolerance)} of the present number`,
  },
  unknown: {
    about: 'while a sample is missing or a trigger cannot be measured, the number does not fall',
    say: (facts) =>
      facts.problem === undefined
        ? 'no new sample arrived, so the last decision is held'
        : `the last decision is held, because a trigger could not be measured (${facts.problem})`,
  },
  panic: {
    about: 'in panic the number does not fall until a full stable window has passed without a cause',
    say: (facts, policy) =>
      facts.isBackpressured
        ? 'the listeners are paused: nothing is given up'
        : `sudden demand less than ${secondsText(policy.stableWindowMs)} ago: nothing is given up yet`,
  },
  stabilization: {
    about:
      'a reduction takes the highest number that lasting demand wanted in the last 5 min, or that anything wanted in the last 60 s',
    say: (facts, policy) =>
      `${facts.stabilizedWorkers} were wanted within the last ${secondsText(policy.downStabilizationMs)}`,
  },
  plateau: {
    about: 'growth that brought less than 10 % more completions is not continued for 60 s',
    say: (facts, policy) =>
      `the bottleneck is elsewhere: growth to ${facts.plateauWorkers} brought less than ${percentText(policy.leastGain)} more completions`,
  },
  useful: {
    about: 'not more workers than partitions or sessions of the sources, if all triggers have such a bound',
    say: (facts) => `the sources can be shared by at most ${facts.maxUsefulWorkers} workers`,
  },
  calls: {
    about: 'no growth above the calls that could run: the most in flight, waiting and in sources within 6 s',
    say: (facts) => `${workersForCalls(facts)} calls could run at the same time, and each runs on one worker`,
  },
  cores: {
    about:
      'no growth above the workers that the cores of their machine can feed: cores / share of a core that a busy worker needs, from 50 % on; workers that compute count as 100 % until that is measured',
    say: (facts) =>
      `a busy worker needs ${percentText(facts.busyCpu)} of a core, and ${facts.cores} cores feed ${workersForCores(facts)}`,
  },
  'runtime-memory': {
    about:
      'a runtime above 70 % of its memory gets no more workers; above 90 % it gives up two per period, until it is under 85 %',
    say: (facts) => `the runtime uses ${percentText(facts.runtimeMemory)} of its memory`,
  },
  'slew-up': {
    about: 'growth of at most max(× 2, + 10) within 15 s, in panic within 1 s',
    say: () => 'growth is limited within a period',
  },
  'slew-down': {
    about: 'shrinkage of at most half within 15 s, at least one; workers of an idle application all end at once',
    say: () => 'shrinkage is limited within a period',
  },
  min: { about: '`minWorkers` of the application', say: (_, policy) => `the minimum is ${policy.minWorkers}` },
  max: { about: '`maxWorkers` of the application', say: (_, policy) => `the maximum is ${policy.maxWorkers}` },
  'tenant-share': {
    about: 'ceilings of the tenant and of the platform, shared by weighted max-min; minimums are never taken',
    say: () => 'other applications need workers too, and this is its share',
  },
};
