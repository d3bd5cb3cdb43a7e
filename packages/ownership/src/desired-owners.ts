/**
 * Which replica should be the home of which partition; the index of both arrays is the partition. Everybody who sees the
 * same rows decides the same:
 *
 * - balanced: no replica has two partitions more than another;
 * - stable: whoever is the home of a partition stays it unless balance demands a move, and never more than that move.
 *
 * The present holders are part of the input, so a change that is half done is finished and not begun anew.
 */
export function desiredOwners(
  replicaIds: readonly string[],
  holders: readonly (string | undefined)[],
): (string | undefined)[] {
  const held = new Map(replicaIds.toSorted().map((id) => [id, [] as number[]]));
  for (const [partition, holder] of holders.entries()) if (holder !== undefined) held.get(holder)?.push(partition);

  const desired: (string | undefined)[] = holders.map(() => undefined);
  if (held.size === 0) return desired;
  const quotas = quotasOf(held, holders.length);
  for (const [id, partitions] of held) for (const kept of partitions.slice(0, quotas.get(id))) desired[kept] = id;

  // What nobody keeps goes to those who have too little, in the order of their names.
  const short = [...held].flatMap(([id, partitions]) =>
    Array.from({ length: Math.max(0, (quotas.get(id) ?? 0) - partitions.length) }, () => id),
  );
  return desired.map((id) => id ?? short.shift());
}

/** Equal shares; what is left over goes to those who hold most already, since there it moves least. */
function quotasOf(held: ReadonlyMap<string, readonly number[]>, partitions: number): ReadonlyMap<string, number> {
  const share = Math.floor(partitions / held.size);
  const leftOver = partitions % held.size;
  // The sort is stable and `held` is in the order of names: ties end the same everywhere.
  const byHoldings = [...held].toSorted(([, a], [, b]) => b.length - a.length);
  return new Map(byHoldings.map(([id], rank) => [id, share + (rank < leftOver ? 1 : 0)]));
}
