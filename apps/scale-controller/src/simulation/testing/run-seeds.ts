import type { PlantedBug } from './planted-bugs.js';
import { runSimulation } from './run-simulation.js';

/** Replays one seed; otherwise as many run as asked for, or as many as DROVER_SIMULATION_SEEDS says. */
const only = process.env['DROVER_SIMULATION_SEED'];
const more = process.env['DROVER_SIMULATION_SEEDS'];

/** Seeds that found a defect once: 182, workers at another runtime than the home of their application. */
const regressions = [182];

/** Runs seeds that found a defect, then 1, 2, … Throws for the first that violates an invariant, with all that is needed to replay it. */
export function runSeeds(count: number, bug?: PlantedBug): { readonly served: number; readonly seeds: number } {
  const seeds =
    only === undefined
      ? [...regressions, ...Array.from({ length: Number(more ?? count) }, (_, n) => n + 1)]
      : [Number(only)];
  let served = 0;
  for (const seed of seeds) {
    const result = runSimulation(seed, bug);
    served += result.served;
    if (result.violation === undefined) continue;
    const { violation, hash, lastEvents } = result;
    throw new Error(
      `seed ${seed}: ${violation}\nReplay it with DROVER_SIMULATION_SEED=${seed} (hash ${hash}). The last events:\n${lastEvents.join('\n')}`,
    );
  }
  return { served, seeds: seeds.length };
}
