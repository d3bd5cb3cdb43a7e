import type { ScaleSettings } from '@drover/contracts';
import type { ScalePolicy } from './types.js';

const minutes = 60_000;

/** Numbers of seed 000 where it has them; the rest as in the reference formulas of HPA and KPA, or measured with `traces.test.ts`. */
export const defaultScalePolicy: ScalePolicy = Object.freeze({
  minWorkers: 0,
  maxWorkers: 10,
  idleMs: 5 * minutes,
  isPredictive: true,
  plannedUtilization: 0.7,
  concurrencyPerWorker: 100,
  drainBacklogMs: 10_000,
  drainWaitingMs: 1_000,
  ageLimitMs: 30_000,
  stableWindowMs: 60_000,
  panicWindowMs: 6_000,
  panicRatio: 2,
  tolerance: 0.1,
  downStabilizationMs: 5 * minutes,
  slewUp: { factor: 2, add: 10, periodMs: 15_000 },
  slewPanic: { factor: 2, add: 10, periodMs: 1_000 },
  slewDown: { factor: 0.5, add: 1, periodMs: 15_000 },
  staleAfterMs: 5_000,
  leastGain: 0.1,
  plateauMs: minutes,
});

/** One line for each setting, for docs/scaling.md. */
export const policyTexts: Readonly<Record<keyof ScalePolicy, string>> = {
  minWorkers: 'never fewer, and never taken by other tenants',
  maxWorkers: 'never more',
  idleMs: 'without any event for this long, the last worker ends',
  isPredictive: 'whether workers start ahead of the usual demand',
  plannedUtilization: 'share of capacity that is planned; the rest absorbs noise',
  concurrencyPerWorker: 'concurrent invocations of one worker, until measured',
  drainBacklogMs: 'time in which a backlog of a source is to be worked off',
  drainWaitingMs: 'time in which calls that wait in a runtime are to be taken',
  ageLimitMs: 'age of the oldest message above which depth no longer decides alone',
  stableWindowMs: 'window of the usual demand; also the shortest panic',
  panicWindowMs: 'window of sudden demand',
  panicRatio: 'panic begins when the panic window wants this many times the ready workers',
  tolerance: 'smaller deviations change nothing',
  downStabilizationMs: 'a reduction takes the highest number that was wanted in this time',
  slewUp: 'limit of growth',
  slewPanic: 'limit of growth in panic',
  slewDown: 'limit of shrinkage',
  staleAfterMs: 'an older sample counts as unknown',
  leastGain: 'growth that brings a smaller share of additional completions is stopped',
  plateauMs: 'how long it stays stopped',
};

/** Policy of an application: the settings of its deployment over the defaults of the platform. A minimum above the maximum raises the maximum. */
export function policyOf(settings: ScaleSettings, defaults: ScalePolicy = defaultScalePolicy): ScalePolicy {
  const minWorkers = settings.minWorkers ?? defaults.minWorkers;
  const maxWorkers = Math.max(minWorkers, settings.maxWorkers ?? defaults.maxWorkers);
  const idleMs = settings.idleMs ?? defaults.idleMs;
  return Object.freeze({
    ...defaults,
    minWorkers,
    maxWorkers,
    idleMs,
    // A short idle time is a wish to shrink quickly: the stabilization must not outlast it.
    downStabilizationMs: Math.min(defaults.downStabilizationMs, Math.max(idleMs, defaults.panicWindowMs)),
    isPredictive: settings.isPredictive ?? defaults.isPredictive,
  });
}
