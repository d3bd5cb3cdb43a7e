import { loseWorker } from './losses.js';
import type { PendingCommand, PlacementWorld } from './placement-world.js';
import type { PlacedWorker } from './worker-table.js';

/** Acts on every limit that has passed: of workers in their states, and of commands without an answer. */
export function expire(world: PlacementWorld): void {
  for (const worker of world.workers.all())
    if (worker.deadlineMs !== undefined && worker.deadlineMs <= world.nowMs) expireWorker(world, worker);
  for (const [commandId, pending] of world.pending) expireCommand(world, commandId, pending);
}

function expireWorker(world: PlacementWorld, worker: PlacedWorker): void {
  const { endGraceMs, commandMs } = world.timings;
  if (worker.state.is('starting'))
    return loseWorker(world, worker, { cause: 'crash', reason: 'it did not connect in time', isOver: false });
  if (worker.state.is('specializing'))
    return loseWorker(world, worker, { cause: 'crash', reason: 'it was not ready in time', isOver: false });
  if (worker.state.is('lost')) return world.end(worker, 0);
  if (worker.state.is('draining')) return world.end(worker, endGraceMs);
  if (!worker.state.is('ending')) return;
  // The first call may have been lost.
  worker.deadlineMs = world.nowMs + commandMs;
  world.emit({ kind: 'end', instanceId: worker.workerId, graceMs: 0 });
}

/** Commands that may be repeated are sent again; those about a worker have the limit of its state. */
function expireCommand(
  world: PlacementWorld,
  commandId: number,
  { runtimeId, command, sentAtMs }: PendingCommand,
): void {
  const { commandMs, drainMs, specializeMs } = world.timings;
  const age = world.nowMs - sentAtMs;
  const runtime = world.runtimes.get(runtimeId);
  const limit = { remove: drainMs + commandMs, drain: drainMs + commandMs, specialize: specializeMs };
  if (age < (command.kind in limit ? limit[command.kind as keyof typeof limit] : commandMs)) return;
  world.pending.delete(commandId);
  if (!runtime?.isAttached) return;
  if (command.kind === 'host')
    runtime.hosting.delete(`${command.application.tenantId}/${command.application.applicationId}`);
  else if (command.kind === 'remove') runtime.removing.delete(command.application);
  else if (command.kind === 'park') runtime.parked.delete(command.application);
  else if (command.kind === 'expect') {
    const { workerId, requestId, versionKey, isIsolated } = command;
    if (world.workers.get(workerId)?.state.is('starting', 'lost'))
      world.send(runtimeId, { kind: 'expect', workerId, requestId, versionKey, isIsolated });
  }
}
