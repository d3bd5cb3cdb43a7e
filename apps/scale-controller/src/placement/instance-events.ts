import type { Instance } from '@drover/instance-provider';
import { loseWorker } from './losses.js';
import type { PlacementEvent } from './placement-types.js';
import { poolKey, runtimeKey, type PlacementWorld } from './placement-world.js';

type EventOf<Kind extends PlacementEvent['kind']> = Extract<PlacementEvent, { readonly kind: Kind }>;

/**
 * Takes over what the leader before left. A worker with a row and a process waits for its runtime to report it; a process without
 * a row is an orphan, since a row is written before its process starts.
 */
export function onAdopt(world: PlacementWorld, { workers, applications, catalog, instances }: EventOf<'adopt'>): void {
  for (const placed of catalog) world.application(placed.application).placed = placed;
  for (const { application, desired, runtimeId } of applications) {
    const record = world.application(application);
    record.desired = desired;
    if (runtimeId !== undefined) world.setHome(record, world.runtime(runtimeId));
  }
  const byId = new Map(instances.map((instance) => [instance.instanceId, instance]));
  const { runtimeGraceMs, reconnectMs } = world.timings;
  let adopted = 0;
  for (const row of workers) {
    const instance = byId.get(row.workerId);
    if (!instance || instance.state === 'ended') {
      world.emit({ kind: 'drop-worker', workerId: row.workerId });
      continue;
    }
    adopted += 1;
    world.runtime(row.runtimeId).incarnation ||= row.incarnation;
    const deadlineMs = world.nowMs + runtimeGraceMs + reconnectMs;
    const state = instance.state === 'ending' ? 'ending' : 'lost';
    world.addWorker(row, state, { isProven: false, isSeen: true, deadlineMs });
  }
  const orphans = instances.filter((instance) => onInstance(world, instance) === 'orphan').length;
  world.note({ kind: 'placement.adopted', workers: adopted, orphans });
}

/** Compares with all instances: seen workers that are missing have ended without a notice. */
export function onInstances(world: PlacementWorld, { instances, asOfMs }: EventOf<'instances'>): void {
  const listed = new Set(instances.map(({ instanceId }) => instanceId));
  for (const instance of instances) onInstance(world, instance);
  for (const worker of world.workers.all()) {
    if (!worker.isSeen || listed.has(worker.workerId) || worker.startedAtMs >= asOfMs) continue;
    loseWorker(world, worker, { cause: 'crash', reason: 'its process is gone', isOver: true });
  }
  for (const runtime of world.runtimes.values())
    if (runtime.instance === 'live' && !listed.has(runtime.runtimeId)) runtime.instance = 'ended';
}

/** Returns `orphan` if the instance belongs to no worker and was told to end. */
export function onInstance(world: PlacementWorld, instance: Instance): 'orphan' | 'known' {
  if (instance.role === 'runtime') return onRuntimeInstance(world, instance);
  const { instanceId, state } = instance;
  const worker = world.workers.get(instanceId);
  if (state === 'ended') {
    const reason = instance.end?.text ?? 'its process ended';
    if (worker) loseWorker(world, worker, { cause: 'crash', reason, isOver: true });
    world.emit({ kind: 'forget', instanceId });
    return 'known';
  }
  if (worker) {
    worker.isSeen = true;
    return 'known';
  }
  if (!world.rules.isOrphan({ isKnown: false })) return 'known';
  // Told again although it is ending: the leader that told it first may have given it a long grace period.
  world.emit({ kind: 'end', instanceId, graceMs: 0 });
  if (state === 'ending') return 'known';
  world.note({ kind: 'placement.orphan-ended', instanceId, reason: 'no scale controller knows it' });
  return 'orphan';
}

export function onStartFailed(world: PlacementWorld, { instanceId, reason }: EventOf<'start-failed'>): void {
  const runtime = world.runtimes.get(instanceId);
  if (runtime) {
    runtime.instance = 'ended';
    world.recordFailure(runtimeKey);
  }
  const worker = world.workers.get(instanceId);
  if (!worker) return;
  // Refused without a process, so nothing is lost but time: the next attempt waits, also for the first one.
  world.recordFailure(worker.versionKey ?? poolKey);
  loseWorker(world, worker, { cause: 'crash', reason, isOver: true });
}

function onRuntimeInstance(world: PlacementWorld, { instanceId, state }: Instance): 'known' {
  const runtime = world.runtime(instanceId);
  if (state === 'ended') {
    if (runtime.instance === 'live') world.recordFailure(runtimeKey);
    runtime.instance = 'ended';
    world.emit({ kind: 'forget', instanceId });
  } else runtime.instance = 'live';
  return 'known';
}
