import { apportion } from './apportion.js';
import type { PlacedApplication } from './placement-types.js';
import type { ApplicationRecord, PlacementWorld, RuntimeRecord } from './placement-world.js';
import { applicationOf, type PlacedWorker } from './worker-table.js';

/** - urgent: an event waits and no worker serves; normal: leaves the last placeholder to an urgent request */
export type StartMode = 'urgent' | 'normal';

/** Brings one application closer to its desired state: host, workers by version, park. Does nothing that is done or under way. */
export function convergeApplication(world: PlacementWorld, application: string, mode: StartMode): void {
  const record = world.applications.get(application);
  if (!record) return;
  const { placed } = record;
  if (!placed || placed.isDeleting) return convergeRemoval(world, record);
  const home = homeOf(world, record);
  if (!home?.isAttached) return;
  removeElsewhere(world, record, home);
  host(world, home, placed);
  const wanted = wantedWorkers(world, record, placed);
  const targets = apportion(wanted, placed.hosted.traffic);
  for (const { codeVersion } of placed.hosted.versions)
    fill(world, home, `${application}:${codeVersion}`, targets.get(codeVersion) ?? 0, mode);
  drainStrays(world, home, application);
  release(world, record, wanted, targets);
  if (wanted === 0) park(world, home, application);
}

/** Whether an application at zero needs nothing: its newest generation is parked at its home. */
export function isAtRest(
  world: PlacementWorld,
  { application, placed, desired, runtimeId, wokenUntilMs }: ApplicationRecord,
): boolean {
  const home = runtimeId === undefined ? undefined : world.runtimes.get(runtimeId);
  if (!placed || placed.isDeleting || desired > 0 || world.nowMs < wokenUntilMs || !home?.isAttached) return false;
  if (home.hosted.get(application) !== placed.hosted.generation || !home.parked.has(application)) return false;
  return world.workers.versionsOf(application).length === 0;
}

function wantedWorkers(world: PlacementWorld, record: ApplicationRecord, placed: PlacedApplication): number {
  const isWoken = world.nowMs < record.wokenUntilMs;
  return world.rules.wanted({ desired: record.desired, max: placed.maxWorkers, isWoken });
}

/**
 * Returns the runtime that hosts an application, chosen when there is none: the attached one with the fewest. It stays with a
 * runtime that is away, whose process may still serve, until that has ended or is away for too long.
 */
function homeOf(world: PlacementWorld, record: ApplicationRecord): RuntimeRecord | undefined {
  const current = record.runtimeId === undefined ? undefined : world.runtimes.get(record.runtimeId);
  if (current?.isAttached) return current;
  const isOver =
    current?.instance === 'ended' || (current && world.nowMs - current.sinceMs >= world.timings.runtimeGraceMs);
  if (current && !isOver) return current;
  const attached = [...world.runtimes.values()].filter(({ isAttached }) => isAttached);
  const [next] = attached.toSorted((a, b) => a.homes.size - b.homes.size);
  if (!next) return current;
  if (current) {
    const { application } = record;
    world.note({ kind: 'placement.moved', application, from: current.runtimeId, to: next.runtimeId });
    for (const worker of world.workers.ofApplication(application))
      if (worker.runtimeId !== next.runtimeId) world.end(worker, world.timings.endGraceMs);
  }
  world.setHome(record, next);
  world.saveApplication(record);
  return next;
}

/** A runtime that came back after its applications had moved must not serve them beside the new one. */
function removeElsewhere(world: PlacementWorld, { application }: ApplicationRecord, home: RuntimeRecord): void {
  for (const runtime of world.runtimes.values()) if (runtime !== home) remove(world, runtime, application);
}

/** Returns whether the runtime has nothing of the application any more. */
function remove(world: PlacementWorld, runtime: RuntimeRecord, application: string): boolean {
  if (!runtime.isAttached) return true;
  if (!runtime.hosted.has(application) && !runtime.hosting.has(application)) return true;
  if (runtime.removing.has(application)) return false;
  runtime.removing.add(application);
  world.send(runtime.runtimeId, { kind: 'remove', application, drainMs: world.timings.drainMs });
  return false;
}

function host(world: PlacementWorld, home: RuntimeRecord, { application, hosted }: PlacedApplication): void {
  const { generation } = hosted;
  if (home.removing.has(application)) return;
  if ((home.hosted.get(application) ?? -1) >= generation || home.hosting.get(application) === generation) return;
  if (world.nowMs < (home.refused.get(application) ?? 0)) return;
  if (!home.hosted.has(application)) home.parked.add(application);
  home.hosting.set(application, generation);
  world.send(home.runtimeId, { kind: 'host', application: hosted });
}

/** Starts what is missing of a version. */
function fill(world: PlacementWorld, home: RuntimeRecord, versionKey: string, target: number, mode: StartMode): void {
  const active = world.activeOf(versionKey, home.runtimeId).length;
  for (let missing = target - active; missing > 0; missing -= 1) {
    const atMs = world.delays.nextStartMs(versionKey, world.nowMs);
    if (world.nowMs < atMs) return;
    // The first worker of a version is always urgent: until it is ready, calls of the version wait.
    take(world, home, versionKey, missing === target ? 'urgent' : mode);
  }
}

/** Gives a placeholder to a version: an idle one; in an urgent case one that starts; else a new process. */
function take(world: PlacementWorld, home: RuntimeRecord, versionKey: string, mode: StartMode): void {
  home.parked.delete(applicationOf(versionKey));
  // A process that runs already cannot be given options any more.
  if (world.programOptions(versionKey).length > 0) return void world.startWorker(home, versionKey, false);
  const pool = world.workers.pool(home.runtimeId).filter((worker) => world.rules.isFree(worker));
  const idle = pool.filter(({ state }) => state.is('placeholder'));
  const [first] = idle;
  if (first && (mode === 'urgent' || idle.length > 1)) return world.specialize(first, versionKey);
  const starting = mode === 'urgent' ? pool.find(({ state }) => state.is('starting')) : undefined;
  if (starting) world.specialize(starting, versionKey);
  const { workerId } = starting ?? world.startWorker(home, versionKey, false);
  if (!first) world.note({ kind: 'placement.pool-missed', workerId, versionKey });
}

/** Drains workers of an application at another runtime than its home: those of a move that the leader before did not complete. */
function drainStrays(world: PlacementWorld, home: RuntimeRecord, application: string): void {
  for (const worker of world.workers.ofApplication(application))
    if (worker.runtimeId !== home.runtimeId) world.drain(worker);
}

/**
 * Drains workers beyond the share of their version, and all of versions without traffic. As many as are still missing elsewhere
 * stay until the others are ready, so that a new version takes over without a gap.
 */
function release(
  world: PlacementWorld,
  { application, placed }: ApplicationRecord,
  wanted: number,
  targets: ReadonlyMap<string, number>,
): void {
  const versions = new Set((placed?.hosted.versions ?? []).map(({ codeVersion }) => `${application}:${codeVersion}`));
  const surplus: PlacedWorker[] = [];
  let ready = 0;
  for (const versionKey of world.workers.versionsOf(application)) {
    const target = targets.get(versionKey.slice(application.length + 1)) ?? 0;
    const workers = world.workers
      .ofVersion(versionKey)
      .filter(({ isIsolated }) => !isIsolated || !versions.has(versionKey));
    const active = workers.filter(({ state }) => world.rules.isActive(state.current)).toSorted(bySeniority);
    ready += active.slice(0, target).filter(({ state }) => state.is('ready')).length;
    surplus.push(...active.slice(target));
  }
  const serving = surplus.filter(({ state }) => state.is('ready'));
  const staying = serving.slice(0, world.rules.maySurplus({ wanted, ready }));
  for (const worker of surplus) if (!staying.includes(worker)) world.drain(worker);
}

const seniority = ['ready', 'specializing', 'placeholder', 'starting', 'lost'];

/** Workers that serve before those that do not yet, and older ones before younger ones. */
function bySeniority(a: PlacedWorker, b: PlacedWorker): number {
  const difference = seniority.indexOf(a.state.current) - seniority.indexOf(b.state.current);
  return difference || a.startedAtMs - b.startedAtMs || (a.workerId < b.workerId ? -1 : 1);
}

/** At zero, and only when its last process has ended: a worker that drains still needs its job host. */
function park(world: PlacementWorld, home: RuntimeRecord, application: string): void {
  if (home.parked.has(application) || !home.hosted.has(application)) return;
  if (world.workers.versionsOf(application).length > 0) return;
  home.parked.add(application);
  world.send(home.runtimeId, { kind: 'park', application });
}

/** Drains a deleted application on every runtime, ends its workers, and reports when nothing is left. */
function convergeRemoval(world: PlacementWorld, record: ApplicationRecord): void {
  const { application, placed } = record;
  const runtimes = [...world.runtimes.values()];
  const isHosted = runtimes.map((runtime) => remove(world, runtime, application)).includes(false);
  if (isHosted) return;
  for (const worker of world.workers.ofApplication(application)) world.drain(worker);
  const home = record.runtimeId === undefined ? undefined : world.runtimes.get(record.runtimeId);
  // A runtime that is away may still serve it: only after the grace period it counts as gone.
  if (home && !home.isAttached && world.nowMs - home.sinceMs < world.timings.runtimeGraceMs) return;
  if (world.workers.versionsOf(application).length > 0) return;
  world.applications.delete(application);
  home?.homes.delete(application);
  world.emit({ kind: 'drop-application', application });
  if (placed) world.emit({ kind: 'deleted', application });
}
