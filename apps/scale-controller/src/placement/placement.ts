import { convergeApplication, isAtRest } from './converge.js';
import { convergePools, convergeRuntimes } from './converge-platform.js';
import { expire } from './expire.js';
import { onAdopt, onInstance, onInstances, onStartFailed } from './instance-events.js';
import type { WorkerCounts } from '../decisions/types.js';
import type { PlacedWorkerState } from './placed-worker-states.js';
import type { PlacementOptions } from './placement-options.js';
import type { PlacementEffect, PlacementEvent, StoredWorker } from './placement-types.js';
import { PlacementWorld } from './placement-world.js';
import { onRequest, startIsolated } from './request-events.js';
import { onAnswer, onAttached, onDetached, onWorker } from './runtime-events.js';
import { toStored } from './worker-table.js';

/** A worker as reports show it. */
export interface PlacedWorkerView extends StoredWorker {
  readonly state: PlacedWorkerState;
  readonly sinceMs: number;
}

/**
 * Decides which worker of which runtime an application gets, which placeholder is used, and what is started, drained, ended and
 * replaced. Pure: the same events at the same times have the same effects. One object lives for one term of a leader.
 */
export class Placement {
  readonly #world: PlacementWorld;

  constructor(options: PlacementOptions) {
    this.#world = new PlacementWorld(options);
  }

  /** Applies an event and returns what the shell has to do, in order. */
  step(event: PlacementEvent, nowMs: number): readonly PlacementEffect[] {
    const world = this.#world;
    world.nowMs = nowMs;
    this.#apply(event);
    for (const application of world.touched) convergeApplication(world, application, 'normal');
    world.touched.clear();
    // After all `host` commands: until then the runtime does not know what it does not host.
    if (event.kind === 'attached') world.send(event.attach.runtimeId, { kind: 'synced' });
    // A placeholder that was used is replaced in the same step: the next event may come at once.
    if (world.isPoolChanged) convergePools(world);
    world.isPoolChanged = false;
    return world.takeEffects();
  }

  workersOf(application: string): readonly PlacedWorkerView[] {
    return this.#world.workers.ofApplication(application).map((worker) => ({
      ...toStored(worker),
      state: worker.state.current,
      sinceMs: worker.sinceMs,
    }));
  }

  /** Workers of an application for a decision; isolated ones are not among them. */
  countsOf(application: string): WorkerCounts {
    const counts = { ready: 0, starting: 0, draining: 0 };
    for (const { state, isIsolated } of this.#world.workers.ofApplication(application)) {
      if (isIsolated) continue;
      if (state.is('ready')) counts.ready += 1;
      else if (state.is('draining', 'ending')) counts.draining += 1;
      else counts.starting += 1;
    }
    return counts;
  }

  /** What was decided last. */
  desiredOf(application: string): number {
    return this.#world.applications.get(application)?.desired ?? 0;
  }

  /** Workers that have an application and were not told to end. */
  assignedCount(): number {
    let assigned = 0;
    for (const { versionKey, state } of this.#world.workers.all())
      if (versionKey !== undefined && !state.is('ending')) assigned += 1;
    return assigned;
  }

  /** Number of workers by pool and state. */
  census(): readonly { readonly pool: string; readonly state: PlacedWorkerState; readonly workers: number }[] {
    const pools = {
      placeholder: new Map<PlacedWorkerState, number>(),
      application: new Map<PlacedWorkerState, number>(),
    };
    for (const { versionKey, state } of this.#world.workers.all()) {
      const counts = versionKey === undefined ? pools.placeholder : pools.application;
      counts.set(state.current, (counts.get(state.current) ?? 0) + 1);
    }
    return Object.entries(pools).flatMap(([pool, counts]) =>
      [...counts].map(([state, workers]) => ({ pool, state, workers })),
    );
  }

  homeOf(application: string): string | undefined {
    return this.#world.applications.get(application)?.runtimeId;
  }

  #apply(event: PlacementEvent): void {
    const world = this.#world;
    switch (event.kind) {
      case 'adopt':
        onAdopt(world, event);
        return this.#touchAll();
      case 'instances':
        onInstances(world, event);
        return;
      case 'instance':
        onInstance(world, event.instance);
        return convergeRuntimes(world);
      case 'start-failed':
        return onStartFailed(world, event);
      case 'application':
        world.application(event.application.application).placed = event.application;
        return world.touch(event.application.application);
      case 'application-removed': {
        const record = world.applications.get(event.application);
        if (record) record.placed = undefined;
        return world.touch(event.application);
      }
      case 'attached':
        onAttached(world, event);
        world.isPoolChanged = true;
        return this.#touchAll();
      case 'detached':
        return onDetached(world, event);
      case 'worker':
        return onWorker(world, event);
      case 'answer':
        return onAnswer(world, event);
      case 'request':
        return onRequest(world, event);
      case 'desired':
        return this.#desire(event.application, event.workers);
      case 'pool':
        world.isPoolChanged ||= world.poolTarget !== event.target;
        world.poolTarget = event.target;
        return;
      case 'tick':
        world.isPoolChanged = true;
        expire(world);
        convergeRuntimes(world);
        startIsolated(world);
        return this.#touchAll();
    }
  }

  #desire(application: string, workers: number): void {
    const record = this.#world.application(application);
    if (record.desired === workers) return;
    record.desired = workers;
    this.#world.saveApplication(record);
    this.#world.touch(application);
  }

  #touchAll(): void {
    for (const record of this.#world.applications.values())
      if (!isAtRest(this.#world, record)) this.#world.touch(record.application);
  }
}
