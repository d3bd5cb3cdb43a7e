import { lossCause } from '../failures/decision-matrix.js';
import { convergeApplication } from './converge.js';
import { loseWorker } from './losses.js';
import type { PlacementEvent } from './placement-types.js';
import type { PlacementWorld } from './placement-world.js';

/**
 * Answers a request of a runtime in the same step. An urgent one finds a worker if the bounds of the application allow one: the
 * decision that follows from the next samples has not been made yet.
 */
export function onRequest(
  world: PlacementWorld,
  { request }: Extract<PlacementEvent, { readonly kind: 'request' }>,
): void {
  const { application, versionKey, priority, reason, replaces, isIsolated } = request;
  const record = world.applications.get(application);
  if (!record?.placed) return;
  if (priority === 'urgent') record.wokenUntilMs = world.nowMs + world.timings.wakeMs;
  const replaced = replaces === undefined ? undefined : world.workers.get(replaces);
  if (replaced && !replaced.state.is('draining', 'ending'))
    loseWorker(world, replaced, { cause: lossCause(reason), reason, isOver: false });
  if (isIsolated && versionKey !== undefined) {
    if (record.runtimeId !== undefined) world.isolations.set(versionKey, record.runtimeId);
    return startIsolated(world);
  }
  if (priority === 'urgent') giveUpLost(world, application);
  convergeApplication(world, application, priority);
}

/**
 * Starts one worker of each version that wants it beside the others, for invocations that may have ended a worker. A version whose
 * workers fail waits for its delay. The worker ends when its runtime has drained it.
 */
export function startIsolated(world: PlacementWorld): void {
  for (const [versionKey, runtimeId] of world.isolations) {
    const runtime = world.runtimes.get(runtimeId);
    if (runtime?.isAttached && world.nowMs < world.delays.nextStartMs(versionKey, world.nowMs)) continue;
    world.isolations.delete(versionKey);
    const isThere = world.workers
      .ofVersion(versionKey)
      .some((worker) => worker.isIsolated && !worker.state.is('draining', 'ending'));
    // A runtime that is away asks again when it is back.
    if (runtime?.isAttached && !isThere) world.startWorker(runtime, versionKey, true);
  }
}

/** Workers that may reconnect count as workers. When an event waits and there are no others, one of them is given up for a new one. */
function giveUpLost(world: PlacementWorld, application: string): void {
  const workers = world.workers.ofApplication(application).filter(({ isIsolated }) => !isIsolated);
  if (workers.some(({ state }) => state.is('starting', 'specializing', 'ready'))) return;
  const lost = workers.find(({ state }) => state.is('lost'));
  if (lost) world.end(lost, 0);
}
