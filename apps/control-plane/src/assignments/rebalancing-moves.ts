import type { AssignmentPolicy, AssignmentStep } from './assignment-facts.js';
import {
  append,
  compareText,
  isOpen,
  type PlacedCollection,
  type PlannedWorker,
  type WorkerPoolState,
} from './pool-state.js';

/** A collection that may move, once in a plan. */
interface Movable {
  readonly collection: PlacedCollection;
  /** Workers that it cannot go to. */
  readonly workerIds: ReadonlySet<string>;
  isMoved: boolean;
}

type MoveStep = AssignmentStep & { readonly replaces: string };

/**
 * Moves collections from workers that are out of balance, or to them, a few at a time, until these are well inside it. Workers inside the
 * tolerance only give or take: to make them more even would cost moves and win nothing.
 */
export function rebalancingMoves(state: WorkerPoolState, policy: AssignmentPolicy, nowMs: number): MoveStep[] {
  const ready = state.members.filter(({ facts }) => isOpen(facts));
  const mean = ready.reduce((sum, { load }) => sum + load, 0) / Math.max(1, ready.length);
  const high = new Set(ready.filter(({ load }) => load > mean * (1 + policy.tolerance)));
  const low = new Set(ready.filter(({ load }) => load < mean * (1 - policy.tolerance)));
  if (ready.length < 2 || high.size + low.size === 0) return [];
  const movable = movableByWorker(state, policy, nowMs);
  const assignments = state.collections.reduce((sum, { kept }) => sum + kept.length, 0);
  const moving = state.collections.filter(({ kept }) => kept.some(({ status }) => status !== 'READY')).length;
  let budget = Math.max(2, Math.floor(assignments * policy.movingShare)) - moving;
  const steps: MoveStep[] = [];
  const limits = { most: mean * (1 + policy.settled), least: mean * (1 - policy.settled) };
  for (; budget > 0; budget -= 1) {
    const move = nextMove(ready, { high, low }, movable, limits);
    if (!move) return steps;
    const { source, target, moved } = move;
    const { facts, share } = moved.collection;
    moved.isMoved = true;
    source.take(facts, share);
    target.add(facts, share);
    target.held += 1;
    steps.push({ collectionId: facts.id, workerId: target.facts.id, replaces: source.facts.id });
  }
  return steps;
}

/** The next move: from the worker with the most load that is out of balance, or to the one with the least. Forgets those without one. */
function nextMove(
  ready: readonly PlannedWorker[],
  { high, low }: { readonly high: Set<PlannedWorker>; readonly low: Set<PlannedWorker> },
  movable: ReadonlyMap<string, readonly Movable[]>,
  { most, least }: { readonly most: number; readonly least: number },
): Move | undefined {
  const ascending = ready.toSorted((a, b) => a.load - b.load || compareText(a.facts.id, b.facts.id));
  const descending = ascending.toReversed();
  const from = (source: PlannedWorker, targets: readonly PlannedWorker[]): Move | undefined =>
    bestMove(source, targets, movable.get(source.facts.id) ?? []);
  for (const source of descending.filter((worker) => high.has(worker))) {
    const move = source.load > most ? from(source, ascending) : undefined;
    if (move) return move;
    high.delete(source);
  }
  for (const target of ascending.filter((worker) => low.has(worker))) {
    for (const source of target.load < least ? descending : []) {
      const move = from(source, [target]);
      if (move) return move;
    }
    low.delete(target);
  }
  return undefined;
}

/** The collections that may move, by the workers that they may leave: only while all their replicas serve. */
function movableByWorker(state: WorkerPoolState, { restMs }: AssignmentPolicy, nowMs: number): Map<string, Movable[]> {
  const movable = new Map<string, Movable[]>();
  for (const collection of state.collections) {
    const { kept, leaving, wanted, excluded, failed } = collection;
    const isSettled =
      kept.length === wanted &&
      leaving.length === 0 &&
      kept.every(({ status, assignedAtMs }) => status === 'READY' && nowMs - assignedAtMs >= restMs);
    if (!isSettled) continue;
    const workerIds = new Set([...excluded, ...failed, ...kept.map(({ workerId }) => workerId)]);
    const one: Movable = { collection, workerIds, isMoved: false };
    for (const { workerId, isManual } of kept) if (!isManual) append(movable, workerId, one);
  }
  return movable;
}

interface Move {
  readonly source: PlannedWorker;
  readonly target: PlannedWorker;
  readonly moved: Movable;
}

/** The move from `source` to the first target that lessens the difference most; `undefined` if every move would only turn it round. */
function bestMove(
  source: PlannedWorker,
  targets: readonly PlannedWorker[],
  movable: readonly Movable[],
): Move | undefined {
  for (const target of targets) {
    const difference = source.load - target.load;
    if (difference <= 0) return undefined;
    let best: Move | undefined;
    let bestDistance = Number.POSITIVE_INFINITY;
    for (const moved of movable) {
      const { collection, workerIds, isMoved } = moved;
      if (isMoved || collection.share >= difference * 0.95) continue; // else the two would only change places
      if (workerIds.has(target.facts.id) || !target.fits(collection.facts)) continue;
      if (source.facts.tenantAffinity !== target.facts.tenantAffinity) continue; // affinity comes before load
      const distance = Math.abs(collection.share - difference / 2);
      if (distance >= bestDistance) continue;
      bestDistance = distance;
      best = { source, target, moved };
    }
    if (best) return best;
  }
  return undefined;
}
