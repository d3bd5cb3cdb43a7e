import { runAssignments, type AssignmentRun } from './run-assignments.js';
import type { SqlFault } from './sim-tables.js';

/** Replays one seed; otherwise as many run as asked for, or as many as DROVER_SIMULATION_SEEDS says. */
const only = process.env['DROVER_SIMULATION_SEED'];
const more = process.env['DROVER_SIMULATION_SEEDS'];

export interface SeedsOptions {
  readonly count: number;
  readonly faults?: ReadonlySet<SqlFault>;
  /** Another build of `runAssignments`. */
  readonly run?: typeof runAssignments;
}

/** Runs seeds 1, 2, … Throws for the first that violates an invariant, with all that is needed to replay it. */
export async function runAssignmentSeeds({ count, faults, run = runAssignments }: SeedsOptions): Promise<number> {
  const last = Number(more ?? count);
  const seeds = only === undefined ? Array.from({ length: last }, (_, index) => index + 1) : [Number(only)];
  let served = 0;
  for (const seed of seeds) {
    const result: AssignmentRun = await run(seed, faults);
    served += result.served;
    if (result.violation === undefined) continue;
    const { violation, hash, lastEvents } = result;
    throw new Error(
      `seed ${seed}: ${violation}\nReplay it with DROVER_SIMULATION_SEED=${seed} (hash ${hash}). The last events:\n${lastEvents.join('\n')}`,
    );
  }
  return served;
}
