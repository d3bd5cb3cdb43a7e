import { faultsUntilMs, runFaults } from './sim-faults.js';
import { checkRecovered, watchInvariants } from './sim-invariants.js';
import type { SqlFault } from './sim-tables.js';
import { SimWorld } from './sim-world.js';

export interface AssignmentRun {
  readonly seed: number;
  /** What does not hold; undefined: everything does. */
  readonly violation: string | undefined;
  /** Of the course of events: the same seed has the same. */
  readonly hash: string;
  readonly lastEvents: readonly string[];
  readonly served: number;
}

const quietAfterMs = 150_000;
const observedMs = 35_000;
const endMs = faultsUntilMs + quietAfterMs + observedMs;
/** Requests that come so late must be served, whatever has happened before. */
const recoveredAfterMs = 45_000;

/** Runs one course of events: two control planes, two gateways, workers and collections that come and go, and faults. */
export async function runAssignments(seed: number, faults?: ReadonlySet<SqlFault>): Promise<AssignmentRun> {
  const world = new SimWorld(seed, faults);
  const { clock } = world;
  watchInvariants(world);
  const served = { count: 0 };
  runFaults(world);
  sendRequests(world, served);
  await clock.runAllUntil(endMs, () => world.violation !== undefined);
  if (world.violation === undefined) await checkRecovered(world, faultsUntilMs + quietAfterMs);
  const { violation } = world;
  return { seed, violation, hash: clock.hash, lastEvents: clock.lastEvents, served: served.count };
}

function sendRequests(world: SimWorld, served: { count: number }): void {
  const { clock, traits } = world;
  const send = async (): Promise<void> => {
    const routes = [...world.database.tables.routes.values()].filter(({ endpoints }) => endpoints.length > 0);
    const id = clock.pick(routes)?.collection_id;
    const gateway = clock.pick(world.gateways);
    if (id === undefined || !gateway?.isReady) return;
    const sentMs = clock.nowMs;
    const problem = await gateway.request(id);
    if (problem === undefined) served.count += 1;
    else if (
      world.database.tables.collections.has(id) &&
      (!traits.isRough || sentMs > faultsUntilMs + recoveredAfterMs)
    )
      world.fail(`a request for ${id} at ${gateway.name} failed: ${problem}`);
  };
  const next = (): void => {
    void send();
    clock.after(clock.between(0, 2_000), next);
  };
  next();
}
