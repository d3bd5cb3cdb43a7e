import { median, medianRatio } from '../harness/statistics.js';
import { below, times, type Figure } from '../harness/table.js';
import type { EchoKind } from './echo.js';

export type Place = 'thread' | 'process';
export const placeOf = (kind: EchoKind): Place => (kind.endsWith('thread') ? 'thread' : 'process');

/** Milliseconds of one contender, one for each round. */
interface Timed {
  readonly name: string;
  readonly kind: EchoKind;
  readonly isFloor: boolean;
  readonly samples: readonly number[];
}

/** Shows times as ratios of the bare way in the same place, and a goal for ours. */
export function floorFigures(what: string, contenders: readonly Timed[], mostOfFloor?: number): Figure[] {
  return contenders.map(({ name, kind, samples }) => {
    const place = placeOf(kind);
    const floor = contenders.find((other) => other.isFloor && placeOf(other.kind) === place)?.samples ?? [];
    const ratio = medianRatio(samples, floor);
    return {
      what: `${what}: ${name}`,
      value: median(samples),
      unit: 'ms',
      ratio: Number.isFinite(ratio) ? times(ratio, `bare ${place}`) : 'never',
      ...(kind.startsWith('our') && mostOfFloor !== undefined && { goal: below(ratio, mostOfFloor, 'x') }),
    };
  });
}
