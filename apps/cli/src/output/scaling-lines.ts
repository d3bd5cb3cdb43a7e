import type { ScalingDecisionView, ScalingView } from '@drover/contracts';
import { columns, counted } from './application-lines.js';

/** The workers of an application and why, its limits, then its last `most` decisions with the rules behind them. */
export function renderScaling(view: ScalingView, most: number): readonly string[] {
  const shown = view.decisions.slice(0, most);
  return [
    renderWorkers(view),
    view.why,
    renderLimits(view),
    ...(shown.length > 0 ? ['', 'Last decisions, newest first:'] : []),
    ...shown.flatMap(renderDecision),
  ];
}

function renderWorkers({ application, workers: { desired, ready, starting, draining } }: ScalingView): string {
  if (desired + ready + starting + draining === 0)
    return `${application} has no function worker: it is parked, and its next event starts one.`;
  const wanted = desired === ready ? '' : `, ${desired} wanted`;
  const phases = `${phase(starting, 'starting')}${phase(draining, 'draining')}`;
  return `${application} has ${counted(ready, 'function worker')} ready${wanted}${phases}.`;
}

/** Says which setting holds the number down, and how to change it. */
function renderLimits({ application, scaling: { minWorkers, maxWorkers }, decisions: [newest] }: ScalingView): string {
  const held = newest?.clamps.find(({ clamp, to }) => clamp === 'max' && to === maxWorkers);
  const command = `drover scaling ${application}`;
  if (held)
    return `${held.from} are needed, and the limit is ${counted(maxWorkers, 'worker')}. Raise it with: ${command} --max-workers ${held.from}`;
  return `Limits: ${minWorkers} to ${counted(maxWorkers, 'worker')}. Change them with: ${command} --min-workers N --max-workers N`;
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
