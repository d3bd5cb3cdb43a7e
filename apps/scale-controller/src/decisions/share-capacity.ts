/** A claim on a scarce number of workers. */
export interface WorkerClaim {
  /** Granted in any case. */
  readonly least: number;
  readonly wanted: number;
  readonly weight: number;
}

/**
 * Shares workers by weighted max-min: a claim below the common level is granted in full, all others get the level times their weight.
 * Minimums are granted even if they exceed the total.
 */
export function shareWorkers(claims: readonly WorkerClaim[], total: number): readonly number[] {
  const sum = claims.reduce((all, { wanted, least }) => all + Math.max(wanted, least), 0);
  if (sum <= total) return claims.map(({ wanted, least }) => Math.max(wanted, least));
  const level = highestLevel(claims, total);
  const grants = claims.map((claim) => grantAt(claim, level));
  let rest = total - grants.reduce((all, grant) => all + grant, 0);
  // Less than one worker per claim is left: it goes to the claims that are furthest below their level.
  const byDeficit = claims
    .map(({ weight }, index) => ({ index, deficit: (weight * level) % 1 }))
    .toSorted((a, b) => b.deficit - a.deficit || a.index - b.index);
  for (const { index } of byDeficit) {
    const grant = grants[index] ?? 0;
    if (rest <= 0) break;
    if (grant >= (claims[index]?.wanted ?? 0)) continue;
    grants[index] = grant + 1;
    rest -= 1;
  }
  return grants;
}

function grantAt({ least, wanted, weight }: WorkerClaim, level: number): number {
  return Math.max(least, Math.min(wanted, Math.floor(weight * level)));
}

/** The highest level whose grants fit into the total. The sum of grants grows with the level, so it is found by halving. */
function highestLevel(claims: readonly WorkerClaim[], total: number): number {
  let low = 0;
  let high = claims.reduce((most, { wanted, weight }) => Math.max(most, (wanted + 1) / weight), 0);
  for (let step = 0; step < 50; step += 1) {
    const level = (low + high) / 2;
    let sum = 0;
    for (const claim of claims) sum += grantAt(claim, level);
    if (sum <= total) low = level;
    else high = level;
  }
  return low;
}
