import { conclude } from './conclude.js';
import { defaultScalePolicy } from './policy.js';
import { scaleFactsOf } from './facts.js';
import { initialScaleState } from './state.js';
import type { ScaleDecision } from './types.js';

const {
  wanted: _,
  lasting: __,
  isPanicCause: ___,
  ...atRest
} = conclude(
  scaleFactsOf(
    initialScaleState(0, 0),
    {
      nowMs: 0,
      sample: undefined,
      sampleAtMs: 0,
      workers: { ready: 0, starting: 0, draining: 0 },
      wakes: [],
      startMs: 0,
      runtimeMemory: undefined,
    },
    defaultScalePolicy,
  ),
  defaultScalePolicy,
);

/** The decision about every application at zero to which nothing happened: one object for all of them. */
export const sleepingDecision: ScaleDecision = Object.freeze({ ...atRest, isOscillation: false });
