/** One thing to measure. */
export interface Contender<Result> {
  readonly name: string;
  /** In which rounds it takes part; all of them unless told. */
  readonly takesPartIn?: (round: number) => boolean;
  readonly run: (round: number) => Promise<Result>;
}

/** `name` is the last one that began. */
export type Progress = (round: number, name: string) => void;

/**
 * Measures contenders side by side: every round runs each of them once, and each round begins with another one. What the
 * machine does meanwhile, and what runs before whom, falls on all alike. Results are in the order of the contenders.
 */
export async function interleave<Result>(
  contenders: readonly Contender<Result>[],
  rounds: number,
  { signal, progress }: { readonly signal: AbortSignal; readonly progress: Progress },
): Promise<Result[][]> {
  const results = contenders.map((): Result[] => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const index of rotated(contenders.length, round)) {
      const contender = contenders[index];
      if (!contender || contender.takesPartIn?.(round) === false) continue;
      signal.throwIfAborted();
      progress(round, contender.name);
      results[index]?.push(await contender.run(round));
    }
  }
  return results;
}

/** The numbers below `length`, beginning with another one each round. */
function rotated(length: number, round: number): number[] {
  return Array.from({ length }, (_, n) => (n + round) % length);
}
