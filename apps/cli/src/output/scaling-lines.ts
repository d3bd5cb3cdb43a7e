import type { ScalingDecisionView, ScalingView } from '@drover/contracts';
import { columns, counted } from './application-lines.js';

/** The workers of an application and why, then its last `most` decisions with the rules behind them. */
export function renderScaling(
  { application, workers, why, scaling, decisions }: ScalingView,
  most: number,
): readonly string[] {
  const { desired, ready, starting, draining } = workers;
  const shown = decisions.slice(0, most);
  return [
    `${application} has ${counted(ready, 'function worker')} of ${desired}${phase(starting, 'starting')}${phase(draining, 'draining')}.`,
    why,
    `Bounds: ${scaling.minWorkers} to ${scaling.maxWorkers} workers.`,
    ...(shown.length > 0 ? ['', 'Last decisions, newest first:'] : []),
    ...shown.flatMap(renderDecision),
  ];
}

function phase(count: number, word: string): string {
  return count === 0 ? '' : `, ${count} ${word}`;
}

function renderDecision(decision: ScalingDecisionView): readonly string[] {
  const { at, until, count, previous, desired, reason, isPanic, proposals, clamps } = decision;
  const repeated = count === 1 ? '' : `, ${count} times until ${until}`;
  return [
    `  ${at}  ${previous} → ${desired}${isPanic ? ' (panic)' : ''}${repeated}: ${reason}`,
    ...columns(
      proposals.map(({ rule, vote, workers, text }) => [`      ${rule}`, vote, counted(workers, 'worker'), text]),
    ),
    ...clamps.map(({ clamp, from, to, text }) => `      limit ${clamp}: ${from} → ${to}, ${text}`),
  ];
}
