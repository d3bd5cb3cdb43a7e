import type { CollectionRoute } from '@drover/contracts';
import type { AssignmentRow, RouteRow, WorkerRow } from './assignment-rows.js';

/** Returns the endpoints of each collection whose route differs from the stored one. */
export function changedRoutes(
  collectionIds: readonly string[],
  assignments: readonly Pick<AssignmentRow, 'collection_id' | 'worker_id' | 'status'>[],
  workers: readonly Pick<WorkerRow, 'id' | 'status' | 'base_url' | 'zone'>[],
  stored: readonly RouteRow[],
): { readonly collectionId: string; readonly endpoints: CollectionRoute['endpoints'] }[] {
  // A worker that drains serves what no other worker is ready for. One that is OFFLINE may still serve, but that is the last resort.
  const serving = new Map(
    workers.filter(({ status }) => status !== 'STARTING' && status !== 'FAILED').map((one) => [one.id, one]),
  );
  const lastResort = new Map<string, CollectionRoute['endpoints']>();
  const wanted = new Map(collectionIds.map((id): [string, CollectionRoute['endpoints']] => [id, []]));
  for (const { collection_id: collectionId, worker_id: workerId, status } of assignments) {
    const worker = serving.get(workerId);
    if (status !== 'READY' || !worker) continue;
    const { base_url: url, zone } = worker;
    const endpoint = { workerId, url, ...(zone !== null && { zone }) };
    if (worker.status !== 'OFFLINE') wanted.get(collectionId)?.push(endpoint);
    else lastResort.set(collectionId, [...(lastResort.get(collectionId) ?? []), endpoint]);
  }
  for (const [collectionId, endpoints] of lastResort)
    if (wanted.get(collectionId)?.length === 0) wanted.set(collectionId, endpoints);
  const known = new Map(stored.map(({ collection_id: id, endpoints }) => [id, fingerprint(endpoints)]));
  return [...wanted]
    .filter(([id, endpoints]) => fingerprint(endpoints) !== (known.get(id) ?? ''))
    .map(([collectionId, endpoints]) => ({ collectionId, endpoints }));
}

const fingerprint = (endpoints: CollectionRoute['endpoints']): string =>
  endpoints
    .map(({ workerId, url, zone = '' }) => `${workerId} ${url} ${zone}`)
    .toSorted()
    .join('\n');
