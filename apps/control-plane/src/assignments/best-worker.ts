import type { AssignmentPolicy } from './assignment-facts.js';
import { textHash, type PlacedCollection, type PlannedWorker, type WorkerPoolState } from './pool-state.js';

const bucketShare = 0.05;

/**
 * Returns the best worker for one more replica: one that serves this tenant only before others; then the least load, in steps of a
 * twentieth; then another zone than the other replicas; then fewer collections of the tenant, or more; then a fixed order.
 *
 * Compares without lists of keys, and ranks only ties: 10,000 new collections on 200 workers take 0.2 s instead of 3.3 s.
 */
export function bestWorker(
  { members, tenants, meanLoad }: WorkerPoolState,
  { facts, share }: PlacedCollection,
  { locality }: AssignmentPolicy,
  { taken, zones }: { readonly taken: ReadonlySet<string>; readonly zones: ReadonlySet<string | undefined> },
): PlannedWorker | undefined {
  const step = Math.max(meanLoad * bucketShare, Number.MIN_VALUE);
  const direction = locality === 'together' ? -1 : 1;
  const ofTenants = tenants.of(facts.tenantId);
  const hash = textHash(facts.id);
  let best: PlannedWorker | undefined;
  let bestShared = 0;
  let bestBucket = 0;
  let bestZone = 0;
  let bestOfTenant = 0;
  let bestRank = 0;
  for (const worker of members) {
    const { tenantAffinity, zone: ownZone, id } = worker.facts;
    const isShared = tenantAffinity === undefined ? 1 : 0;
    const bucket = Math.floor((worker.load + share) / step);
    let order = best ? isShared - bestShared || bucket - bestBucket : -1;
    if (order > 0 || !worker.fits(facts) || taken.has(id)) continue;
    const zone = ownZone !== undefined && zones.has(ownZone) ? 1 : 0;
    const ofTenant = (ofTenants[worker.index] ?? 0) * direction;
    order ||= zone - bestZone || ofTenant - bestOfTenant;
    if (order > 0) continue;
    const rank = rendezvousRank(hash, worker.hash);
    if (order === 0 && rank >= bestRank) continue;
    best = worker;
    bestShared = isShared;
    bestBucket = bucket;
    bestZone = zone;
    bestOfTenant = ofTenant;
    bestRank = rank;
  }
  return best;
}

/** A number for a collection on a worker that is the same everywhere and even over all pairs: the lowest one wins a tie. */
function rendezvousRank(collectionHash: number, workerHash: number): number {
  let hash = Math.imul(collectionHash ^ 10, 0x01000193) ^ workerHash;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
