import { failureRow, type LossCause } from '../failures/decision-matrix.js';
import { convergeApplication } from './converge.js';
import { poolKey, type PlacementWorld } from './placement-world.js';
import { applicationOf, type PlacedWorker } from './worker-table.js';

/** A worker that served this long did not fail because of its start. */
const healthyAfterMs = 5_000;

/**
 * Handles the loss of a worker by the decision matrix: its process ends, if it has not, and it is replaced as urgently as the
 * application needs it. The loss of a worker that was told to drain or to end is its end.
 */
export function loseWorker(
  world: PlacementWorld,
  worker: PlacedWorker,
  { cause, reason, isOver }: { readonly cause: LossCause; readonly reason: string; readonly isOver: boolean },
): void {
  const wasTold = worker.state.is('draining', 'ending');
  const row = failureRow(wasTold ? 'scale-down' : cause, world.readyOthers(worker));
  const { workerId, versionKey } = worker;
  if (!wasTold) {
    world.note({ kind: 'placement.lost', workerId, versionKey, reason, urgency: row.urgency });
    const wasHealthy = worker.state.is('ready') && world.nowMs - worker.sinceMs >= healthyAfterMs;
    if (cause === 'crash' && !wasHealthy) world.recordFailure(versionKey ?? poolKey);
  }
  if (isOver) world.gone(worker);
  else world.end(worker, cause === 'crash' ? 0 : world.timings.endGraceMs);
  if (versionKey === undefined || row.replacement === 'none' || row.replacement === 'later') return;
  convergeApplication(world, applicationOf(versionKey), row.replacement);
}
