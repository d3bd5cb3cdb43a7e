import { conclude } from '../decisions/conclude.js';
import type { ScalePolicy } from '../decisions/types.js';
import type { DecisionRecord } from './decision-log.js';

/** Makes a recorded decision again from its facts. `policy` answers what other settings would have decided. */
export function replayDecision(
  { decision, policy }: DecisionRecord,
  other: ScalePolicy = policy,
): { readonly desired: number; readonly isSame: boolean } {
  const { desired } = conclude(decision.facts, other);
  // What other applications need is no fact of this one: the share is recorded as a bound of its own.
  const share = decision.clamps.find(({ clamp }) => clamp === 'tenant-share');
  return { desired, isSame: desired === (share ? share.from : decision.desired) };
}
