import { seededRandomness } from '@drover/testkit';

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
 * Measures contenders side by side: every round runs each of them once, in another order. What the machine does meanwhile,
 * and what runs before whom (whose garbage is collected, whose caches are warm), falls on all alike. Results are in the
 * order of the contenders.
 */
export async function interleave<Result>(
  contenders: readonly Contender<Result>[],
  rounds: number,
  { signal, progress }: { readonly signal: AbortSignal; readonly progress: Progress },
): Promise<Result[][]> {
  const results = contenders.map((): Result[] => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const index of shuffled(contenders.length, round)) {
      const contender = contenders[index];
      if (!contender || contender.takesPartIn?.(round) === false) continue;
      signal.throwIfAborted();
      progress(round, contender.name);
      results[index]?.push(await contender.run(round));
    }
  }
  return results;
}

/** The numbers below `length` in an order that is another one each round, and the same in every run. */
function shuffled(length: number, round: number): number[] {
  const randomness = seededRandomness(round + 1);
  const order = Array.from({ length }, (_, n) => n);
  for (let last = length - 1; last > 0; last -= 1) {
    const other = Math.floor(randomness.fraction() * (last + 1));
    [order[last], order[other]] = [order[other] ?? 0, order[last] ?? 0];
  }
  return order;
}
