import type { ScalingRule } from './rule.js';
import { seedRules } from './seed-rules.js';
import { sizingRules } from './sizing-rules.js';
import type { RuleId } from './types.js';

const { demand, target, ...others } = sizingRules;

/** All rules; docs/scaling.md is made from it. Of rules that want the same number the first one is named as the cause. */
export const scalingRules: Readonly<Record<RuleId, ScalingRule>> = { demand, target, ...seedRules, ...others };
