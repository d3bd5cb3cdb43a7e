import type { ScaleInput, ScaleOutcome, ScalePolicy, ScaleState } from './types.js';

/** Decides how many workers an application shall have. Pure: the same state, input and policy give the same outcome. */
export declare function decide(state: ScaleState | undefined, input: ScaleInput, policy: ScalePolicy): ScaleOutcome;
