/**
 * Distributes workers over versions by their traffic shares (largest remainder). Every version with traffic gets at least one, even
 * if that takes more workers than asked for: without one its share of the requests would not be served. Zero stays zero.
 */
export function apportion(workers: number, traffic: Readonly<Record<string, number>>): ReadonlyMap<string, number> {
  const shares = Object.entries(traffic)
    .filter(([, share]) => share > 0)
    .toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  const total = shares.reduce((sum, [, share]) => sum + share, 0);
  if (workers <= 0 || total === 0) return new Map(shares.map(([version]) => [version, 0]));
  const exact = shares.map(([version, share]) => ({ version, quota: (workers * share) / total }));
  const counts = new Map(exact.map(({ version, quota }) => [version, Math.max(1, Math.floor(quota))]));
  let left = workers - [...counts.values()].reduce((sum, count) => sum + count, 0);
  const byRemainder = exact.toSorted((a, b) => (b.quota % 1) - (a.quota % 1));
  for (const { version, quota } of byRemainder) {
    if (left <= 0) break;
    if (quota < 1) continue;
    counts.set(version, (counts.get(version) ?? 0) + 1);
    left -= 1;
  }
  return takeBack(counts, -left);
}

/** The floors of small versions may have taken too many: the largest ones give back. */
function takeBack(counts: Map<string, number>, surplus: number): ReadonlyMap<string, number> {
  for (let excess = surplus; excess > 0; excess -= 1) {
    const [largest] = [...counts].toSorted(([, a], [, b]) => b - a);
    if (!largest || largest[1] <= 1) break;
    counts.set(largest[0], largest[1] - 1);
  }
  return counts;
}
