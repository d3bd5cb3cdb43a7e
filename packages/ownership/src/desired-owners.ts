/**
 * Returns the replica that should own each partition; the index of both arrays is the partition. Replicas that see the same rows
 * decide the same:
 *
 * - balanced: no replica has two partitions more than another;
 * - stable: an owner keeps its partition unless balance demands a move, and no more moves than that.
 *
 * The present owners are part of the input, so a change that is half done is continued rather than started over.
 */
export function desiredOwners(
  replicaIds: readonly string[],
  owners: readonly (string | undefined)[],
): (string | undefined)[] {
  const owned = new Map(replicaIds.toSorted().map((id) => [id, [] as number[]]));
  for (const [partition, owner] of owners.entries()) if (owner !== undefined) owned.get(owner)?.push(partition);

  const desired: (string | undefined)[] = owners.map(() => undefined);
  if (owned.size === 0) return desired;
  const quotas = quotasOf(owned, owners.length);
  for (const [id, partitions] of owned) for (const stays of partitions.slice(0, quotas.get(id))) desired[stays] = id;

  // The rest goes to the replicas below their quota, in the order of their ids.
  const belowQuota = [...owned].flatMap(([id, partitions]) =>
    Array.from({ length: Math.max(0, (quotas.get(id) ?? 0) - partitions.length) }, () => id),
  );
  return desired.map((id) => id ?? belowQuota.shift());
}

/** Returns equal shares; the remainder goes to the replicas that own most already, which moves least. */
function quotasOf(owned: ReadonlyMap<string, readonly number[]>, partitions: number): ReadonlyMap<string, number> {
  const share = Math.floor(partitions / owned.size);
  const remainder = partitions % owned.size;
  // The sort is stable and `owned` is in the order of ids: every replica breaks ties the same way.
  const mostFirst = [...owned].toSorted(([, a], [, b]) => b.length - a.length);
  return new Map(mostFirst.map(([id], rank) => [id, share + (rank < remainder ? 1 : 0)]));
}
