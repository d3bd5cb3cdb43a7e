import type { ScaleSettings } from '@drover/contracts';
import { UsageError } from '../command-line/usage-error.js';

export interface ScaleFlags {
  readonly minWorkers?: number;
  readonly maxWorkers?: number;
  readonly idleSeconds?: number;
  readonly predictive?: string;
}

/** Returns the bounds of scaling that the command line gives; undefined if it gives none. Throws a `UsageError`. */
export function readScaleSettings({
  minWorkers,
  maxWorkers,
  idleSeconds,
  predictive,
}: ScaleFlags): ScaleSettings | undefined {
  if (predictive !== undefined && predictive !== 'on' && predictive !== 'off')
    throw new UsageError(`The value "${predictive}" of --predictive is invalid. Give on or off.`);
  const settings: ScaleSettings = {
    ...(minWorkers !== undefined && { minWorkers }),
    ...(maxWorkers !== undefined && { maxWorkers }),
    ...(idleSeconds !== undefined && { idleMs: idleSeconds * 1_000 }),
    ...(predictive !== undefined && { isPredictive: predictive === 'on' }),
  };
  return Object.keys(settings).length === 0 ? undefined : settings;
}
