import { planPool } from '../pool/pool-plan.js';
import { poolKey, runtimeKey, type PlacementWorld } from './placement-world.js';

/** Brings the pools to their size: placeholders are spread evenly over the attached runtimes, within the bound of all workers. */
export function convergePools(world: PlacementWorld): void {
  const attached = [...world.runtimes.values()].filter(({ isAttached }) => isAttached);
  const used = [...world.workers.all()].filter(
    ({ versionKey, state }) => versionKey !== undefined && !state.is('ending'),
  );
  const { pool, maxWorkers } = world.options;
  const max = Math.max(0, Math.min(pool.max, maxWorkers - used.length));
  for (const [index, runtime] of attached.entries()) {
    const share = (total: number): number => Math.floor((total + index) / attached.length);
    const bounds = { min: share(pool.min), target: share(world.poolTarget), max: share(max) };
    const members = world.workers
      .pool(runtime.runtimeId)
      .filter(({ state }) => state.is('starting', 'placeholder', 'lost'));
    const plan = planPool(
      members.map((worker) => ({ ...worker, isIdle: worker.state.is('placeholder') })),
      bounds,
      world.nowMs,
    );
    for (const workerId of plan.retire) {
      const worker = world.workers.get(workerId);
      if (worker) world.drain(worker);
    }
    if (world.nowMs < world.delays.nextStartMs(poolKey, world.nowMs)) continue;
    for (let missing = plan.start; missing > 0; missing -= 1) world.startWorker(runtime, undefined, false);
  }
}

/** Ends workers that no application and no runtime can use any more: those of runtimes that do not come back. */
function endStranded(world: PlacementWorld): void {
  for (const [runtimeId, runtime] of world.runtimes) {
    const isAway = !runtime.isAttached && world.nowMs - runtime.sinceMs >= world.timings.runtimeGraceMs;
    if (runtime.isAttached || !(isAway || runtime.instance === 'ended')) continue;
    for (const worker of world.workers.pool(runtimeId)) world.end(worker, 0);
    if (runtime.instance !== 'live' && runtime.homes.size === 0 && world.workers.ofRuntime(runtimeId).length === 0)
      world.runtimes.delete(runtimeId);
  }
}

/** Starts missing runtimes through the provider, ends those that run without attaching, and the workers of lost ones. */
export function convergeRuntimes(world: PlacementWorld): void {
  endStranded(world);
  const { runtimes, newId } = world.options;
  const live = [...world.runtimes.values()].filter(({ instance }) => instance === 'live');
  for (const runtime of live) {
    if (runtime.isAttached || world.nowMs - runtime.sinceMs < world.timings.startMs) continue;
    world.emit({ kind: 'end', instanceId: runtime.runtimeId, graceMs: world.timings.endGraceMs });
    runtime.sinceMs = world.nowMs;
  }
  if (world.nowMs < world.delays.nextStartMs(runtimeKey, world.nowMs)) return;
  for (let missing = runtimes - live.length; missing > 0; missing -= 1) {
    const runtimeId = `runtime-${newId()}`;
    world.runtime(runtimeId).instance = 'live';
    const environment = { DROVER_RUNTIME_ID: runtimeId };
    const spec = { instanceId: runtimeId, role: 'runtime' as const, labels: {}, environment, args: [] };
    world.emit({ kind: 'start', spec, row: undefined });
  }
}
