/** The smallest sample that at least `share` (0 to 1) of all samples do not exceed. */
export function percentile(samples: readonly number[], share: number): number {
  if (samples.length === 0) throw new RangeError('no percentile of nothing');
  const sorted = samples.toSorted((a, b) => a - b);
  const rank = Math.max(1, Math.ceil(share * sorted.length));
  return sorted[Math.min(rank, sorted.length) - 1] ?? Number.NaN;
}

export function median(samples: readonly number[]): number {
  if (samples.length === 0) throw new RangeError('no median of nothing');
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

/** Not `Math.max(...samples)`: a hundred thousand arguments are too many. */
export function largest(samples: readonly number[]): number {
  return samples.reduce((most, sample) => Math.max(most, sample), Number.NEGATIVE_INFINITY);
}

/**
 * How many times one beats the other: the median of the ratios of each round, so that a round in which the machine was
 * busy with something else slows both sides and cancels out.
 */
export function medianRatio(ours: readonly number[], theirs: readonly number[]): number {
  if (ours.length !== theirs.length)
    throw new RangeError(`${ours.length} rounds cannot be compared with ${theirs.length}`);
  return median(ours.map((value, round) => value / (theirs[round] ?? Number.NaN)));
}
