import type { LinkedWorker } from '@drover/scale-link';
import { lossCause } from '../failures/decision-matrix.js';
import { convergeApplication } from './converge.js';
import { loseWorker } from './losses.js';
import type { PlacementEvent } from './placement-types.js';
import { endpointText, type PendingCommand, type PlacementWorld, type RuntimeRecord } from './placement-world.js';
import { applicationOf, toStored, type PlacedWorker } from './worker-table.js';

type EventOf<Kind extends PlacementEvent['kind']> = Extract<PlacementEvent, { readonly kind: Kind }>;

/** A runtime has told its complete state: workers are compared with it, and applications that live elsewhere are removed. */
export function onAttached(world: PlacementWorld, { attach }: EventOf<'attached'>): void {
  const runtime = world.runtime(attach.runtimeId);
  const isSame = runtime.incarnation === attach.incarnation;
  world.dropPending(runtime);
  Object.assign(runtime, { incarnation: attach.incarnation, endpoint: attach.endpoint });
  Object.assign(runtime, { isAttached: true, sinceMs: world.nowMs });
  // Another runtime that had this address has ended, whatever its name: its applications need not wait for it.
  for (const other of world.runtimes.values())
    if (!other.isAttached && endpointText(other.endpoint) === endpointText(attach.endpoint)) other.instance = 'ended';
  for (const set of [runtime.hosted, runtime.hosting, runtime.parked, runtime.removing]) set.clear();
  for (const [application, generation] of Object.entries(attach.applications))
    runtime.hosted.set(application, generation);
  const reported = new Map(attach.workers.map((worker) => [worker.workerId, worker]));
  for (const worker of world.workers.ofRuntime(attach.runtimeId)) {
    const report = reported.get(worker.workerId);
    if (report) applyReport(world, worker, report);
    else missing(world, runtime, worker, isSame);
  }
  runtime.refused.clear();
  removeUnknown(world, runtime);
}

/** Applications that were deleted while the runtime was away. */
function removeUnknown(world: PlacementWorld, runtime: RuntimeRecord): void {
  for (const application of runtime.hosted.keys()) world.application(application);
}

export function onDetached(world: PlacementWorld, { runtimeId, incarnation }: EventOf<'detached'>): void {
  const runtime = world.runtimes.get(runtimeId);
  if (!runtime?.isAttached || runtime.incarnation !== incarnation) return;
  runtime.isAttached = false;
  runtime.sinceMs = world.nowMs;
  world.dropPending(runtime);
}

export function onWorker(world: PlacementWorld, { runtimeId, worker: report }: EventOf<'worker'>): void {
  const worker = world.workers.get(report.workerId);
  if (worker?.runtimeId === runtimeId) applyReport(world, worker, report);
}

export function onAnswer(world: PlacementWorld, { runtimeId, commandId, error }: EventOf<'answer'>): void {
  const pending = world.pending.get(commandId);
  const runtime = world.runtimes.get(runtimeId);
  if (!pending || !runtime || pending.runtimeId !== runtimeId) return;
  world.pending.delete(commandId);
  if (error) {
    const { code, message } = error;
    world.note({ kind: 'placement.command-failed', command: pending.command.kind, code, reason: message });
  }
  settle(world, runtime, pending, error?.message);
}

function settle(world: PlacementWorld, runtime: RuntimeRecord, { command }: PendingCommand, problem?: string): void {
  switch (command.kind) {
    case 'host': {
      const { tenantId, applicationId, generation } = command.application;
      const application = `${tenantId}/${applicationId}`;
      runtime.hosting.delete(application);
      if (problem === undefined) runtime.hosted.set(application, generation);
      // Otherwise a refusal would be sent again as fast as it is answered.
      else runtime.refused.set(application, world.nowMs + world.timings.commandMs);
      return world.touch(application);
    }
    case 'remove':
      runtime.removing.delete(command.application);
      runtime.hosted.delete(command.application);
      return world.touch(command.application);
    case 'park':
      // A call came in between: it is asked again when the application is idle once more.
      if (problem !== undefined) runtime.parked.delete(command.application);
      return;
    case 'synced':
      return;
    case 'expect':
    case 'specialize':
    case 'drain':
      return settleWorker(world, command, problem);
  }
}

function settleWorker(
  world: PlacementWorld,
  command: { readonly kind: 'expect' | 'specialize' | 'drain'; readonly workerId: string },
  problem: string | undefined,
): void {
  const worker = world.workers.get(command.workerId);
  if (!worker) return;
  if (command.kind === 'drain') return world.end(worker, world.timings.endGraceMs);
  if (problem !== undefined) return loseWorker(world, worker, { cause: 'crash', reason: problem, isOver: false });
  if (command.kind === 'specialize' && worker.state.is('specializing')) becomeReady(world, worker);
}

/** Brings what is known of a worker in line with what its runtime says. */
function applyReport(world: PlacementWorld, worker: PlacedWorker, report: LinkedWorker): void {
  const { versionKey, state } = report;
  worker.incarnation = world.runtime(worker.runtimeId).incarnation;
  if (state === 'gone') {
    const reason = report.reason ?? 'its runtime lost it';
    return loseWorker(world, worker, { cause: lossCause(reason), reason, isOver: false });
  }
  if (versionKey !== undefined && versionKey !== worker.versionKey) {
    if (worker.versionKey !== undefined) return world.end(worker, 0);
    // The leader before gave it this version and could not store that any more.
    world.workers.assign(worker, versionKey);
    world.emit({ kind: 'save-worker', row: toStored(worker) });
  }
  worker.isProven = true;
  // How long a worker was away says nothing about how long the next one takes to start.
  if (worker.state.is('lost')) worker.askedAtMs = world.nowMs;
  if (state === 'ready') becomeReady(world, worker);
  else if (state === 'specializing') world.move(worker, 'specializing', world.nowMs + world.timings.specializeMs);
  else if (state === 'draining')
    world.move(worker, 'draining', world.nowMs + world.timings.drainMs + world.timings.commandMs);
  else becomeIdle(world, worker);
}

function becomeIdle(world: PlacementWorld, worker: PlacedWorker): void {
  const { workerId, versionKey, startedAtMs } = worker;
  const wasStarting = worker.state.is('starting');
  if (!world.move(worker, 'placeholder')) return;
  // It was given an application while it started.
  if (versionKey !== undefined) world.specialize(worker, versionKey);
  else if (wasStarting) world.note({ kind: 'placement.idle', workerId, tookMs: world.nowMs - startedAtMs });
}

function becomeReady(world: PlacementWorld, worker: PlacedWorker): void {
  const hasReturned = worker.state.is('lost');
  if (!world.move(worker, 'ready') || worker.versionKey === undefined) return;
  const { workerId, versionKey } = worker;
  if (!hasReturned)
    world.note({ kind: 'placement.ready', workerId, versionKey, tookMs: world.nowMs - worker.askedAtMs });
  // Workers of other versions may go now.
  convergeApplication(world, applicationOf(versionKey), 'normal');
}

/** The runtime does not know a worker: a process of the same runtime lost it, a new one may get it back. */
function missing(world: PlacementWorld, runtime: RuntimeRecord, worker: PlacedWorker, isSame: boolean): void {
  if (worker.state.is('ending')) return;
  if (worker.state.is('draining')) return world.end(worker, 0);
  const wasConnected = worker.state.is('placeholder', 'specializing', 'ready');
  if (isSame && wasConnected)
    return loseWorker(world, worker, { cause: 'crash', reason: 'its runtime lost it', isOver: false });
  const canReach = worker.endpoint === endpointText(runtime.endpoint);
  const { workerId, requestId, versionKey, isIsolated } = worker;
  if (!canReach || !world.rules.mayReconnect(worker)) {
    world.note({ kind: 'placement.lost', workerId, versionKey, reason: 'its runtime is a new one', urgency: 'low' });
    return world.end(worker, 0);
  }
  if (!worker.state.is('starting')) world.move(worker, 'lost');
  if (worker.state.is('lost')) worker.deadlineMs = world.nowMs + world.timings.reconnectMs;
  world.send(runtime.runtimeId, { kind: 'expect', workerId, requestId, versionKey, isIsolated });
}
