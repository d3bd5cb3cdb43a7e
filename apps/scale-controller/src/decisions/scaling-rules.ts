import type { ScalingRule } from './rule.js';
import { seedRules } from './seed-rules.js';
import { sizingRules } from './sizing-rules.js';
import type { RuleId } from './types.js';

/** All rules; docs/scaling.md is made from it. */
export const scalingRules: Readonly<Record<RuleId, ScalingRule>> = { ...seedRules, ...sizingRules };
