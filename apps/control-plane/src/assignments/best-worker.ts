import type { AssignmentPolicy } from './assignment-facts.js';
import type { PlacedCollection, PlannedWorker, WorkerPoolState } from './pool-state.js';

const bucketShare = 0.05;

/**
 * Returns the best worker for one more replica: one that serves this tenant only before others; then the least load, in steps of a
 * twentieth; then another zone than the other replicas; then fewer collections of the tenant, or more; then a fixed order.
 *
 * Compares without lists of keys, and ranks only ties: 10,000 new collections on 200 workers take 0.4 s instead of 3.3 s.
 */
export function bestWorker(
  { workers, meanLoad }: WorkerPoolState,
  { facts, share }: PlacedCollection,
  { locality }: AssignmentPolicy,
  { taken, zones }: { readonly taken: ReadonlySet<string>; readonly zones: ReadonlySet<string | undefined> },
): PlannedWorker | undefined {
  const step = Math.max(meanLoad * bucketShare, Number.MIN_VALUE);
  const direction = locality === 'together' ? -1 : 1;
  const rankOf = rendezvousRanks(facts.id);
  let best: PlannedWorker | undefined;
  let [bestShared, bestBucket, bestZone, bestOfTenant, bestRank] = [0, 0, 0, 0, -1];
  for (const worker of workers.values()) {
    const isShared = worker.facts.tenantAffinity === undefined ? 1 : 0;
    const bucket = Math.floor((worker.load + share) / step);
    let order = best ? isShared - bestShared || bucket - bestBucket : -1;
    if (order > 0 || !worker.fits(facts) || taken.has(worker.facts.id)) continue;
    const zone = worker.facts.zone !== undefined && zones.has(worker.facts.zone) ? 1 : 0;
    const ofTenant = worker.ofTenant(facts.tenantId) * direction;
    order ||= zone - bestZone || ofTenant - bestOfTenant;
    let rank = -1;
    if (best && order === 0) {
      if (bestRank < 0) bestRank = rankOf(best.facts.id);
      rank = rankOf(worker.facts.id);
      order = rank - bestRank;
    }
    if (order >= 0) continue;
    best = worker;
    [bestShared, bestBucket, bestZone, bestOfTenant, bestRank] = [isShared, bucket, zone, ofTenant, rank];
  }
  return best;
}

/** Numbers for a collection on each worker that are the same everywhere and even over all pairs: the lowest one wins a tie. */
function rendezvousRanks(collectionId: string): (workerId: string) => number {
  const ofCollection = hashed(0x811c9dc5, collectionId);
  return (workerId) => {
    // FNV-1a, then mixed: names of workers often differ in their last character only.
    let hash = hashed(Math.imul(ofCollection ^ 10, 0x01000193), workerId);
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return (hash ^ (hash >>> 16)) >>> 0;
  };
}

function hashed(start: number, text: string): number {
  let hash = start;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}
