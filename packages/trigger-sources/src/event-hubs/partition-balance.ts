import type { Randomness } from '@drover/service-kit';

/** The ownership of one partition as the store has it. */
export interface PartitionShare {
  readonly partitionId: string;
  /** Undefined if it is released, expired or was never claimed. */
  readonly ownerId: string | undefined;
}

interface BalanceRequest {
  readonly partitionIds: readonly string[];
  readonly shares: readonly PartitionShare[];
  readonly self: string;
  readonly randomness: Pick<Randomness, 'fraction'>;
}

/**
 * Returns the partitions that a runtime claims now so that all runtimes have nearly the same number: free ones first; others
 * are taken from the runtime that has most, only if it has at least two more. Two runtimes that decide at the same time choose
 * in a different order; the store decides between them.
 */
export function partitionsToClaim({ partitionIds, shares, self, randomness }: BalanceRequest): readonly string[] {
  const owners = new Map(shares.map(({ partitionId, ownerId }) => [partitionId, ownerId]));
  const owned = new Map<string, string[]>([[self, []]]);
  const free: string[] = [];
  for (const partitionId of partitionIds) {
    const ownerId = owners.get(partitionId);
    if (ownerId === undefined) free.push(partitionId);
    else owned.set(ownerId, [...(owned.get(ownerId) ?? []), partitionId]);
  }
  const others = [...owned].filter(([ownerId]) => ownerId !== self).map(([, partitions]) => partitions);
  let mine = owned.get(self)?.length ?? 0;
  const least = Math.floor(partitionIds.length / owned.size);
  // With a remainder, that many runtimes have one partition more.
  const remainder = partitionIds.length % owned.size;
  const full = others.filter((partitions) => partitions.length > least).length;
  const most = full < remainder ? least + 1 : least;
  const claims = shuffled(free, randomness).slice(0, Math.max(0, most - mine));
  mine += claims.length;
  for (;;) {
    const [largest] = others.toSorted((one, other) => other.length - one.length);
    if (!largest || largest.length < mine + 2) return claims;
    claims.push(...largest.splice(Math.floor(randomness.fraction() * largest.length), 1));
    mine += 1;
  }
}

function shuffled(values: readonly string[], randomness: Pick<Randomness, 'fraction'>): string[] {
  return values
    .map((value) => ({ value, at: randomness.fraction() }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ value }) => value);
}

interface Sighting {
  readonly version: string;
  readonly sinceMs: number;
}

/**
 * Judges by the monotonic clock of this process whether an owner still renews its claims: clocks of other machines and of the
 * store are never compared. A claim is expired when it has not changed for the whole interval since this process saw it first.
 */
export class ClaimSightings {
  readonly #expiryMs: number;
  #seen = new Map<string, Sighting>();

  constructor(expiryMs: number) {
    this.#expiryMs = expiryMs;
  }

  /** Records what the store has now, and returns the partitions whose claim is expired. */
  see(
    claims: readonly { readonly partitionId: string; readonly version: string }[],
    nowMs: number,
  ): ReadonlySet<string> {
    const seen = new Map<string, Sighting>();
    const expired = new Set<string>();
    for (const { partitionId, version } of claims) {
      const before = this.#seen.get(partitionId);
      const sighting = before?.version === version ? before : { version, sinceMs: nowMs };
      seen.set(partitionId, sighting);
      if (nowMs - sighting.sinceMs >= this.#expiryMs) expired.add(partitionId);
    }
    this.#seen = seen;
    return expired;
  }
}
