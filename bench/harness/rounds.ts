import { seededRandomness } from '@drover/testkit';
import type { Figure } from './table.js';

/** One thing to measure. */
export interface Contender<Result> {
  readonly name: string;
  /** In which rounds it takes part; all of them unless told. */
  readonly takesPartIn?: (round: number) => boolean;
  readonly run: (round: number) => Promise<Result>;
}

/** `name` is the last one that began. */
export type Progress = (round: number, name: string) => void;

/** What a suite is given for one run from the command line. */
export interface Run {
  readonly signal: AbortSignal;
  readonly progress: Progress;
  /** Shows figures as they come. They are the result of a run that fails later; a figure replaces an earlier one of its name. */
  readonly publish: (figures: readonly Figure[]) => void;
}

/**
 * Measures contenders side by side: every round runs each of them once, in another order. What the machine does meanwhile,
 * and what runs before whom (whose garbage is collected, whose caches are warm), falls on all alike. Results are in the
 * order of the contenders.
 */
export async function interleave<Result>(
  contenders: readonly Contender<Result>[],
  rounds: number,
  { signal, progress }: Pick<Run, 'signal' | 'progress'>,
  afterRound: (results: readonly (readonly Result[])[]) => void = () => undefined,
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
    afterRound(results);
  }
  return results;
}

interface Measured<Result> {
  readonly contenders: readonly Contender<Result>[];
  /** From the results of each contender and round, in the contenders' order. */
  readonly figures: (results: readonly (readonly Result[])[]) => readonly Figure[];
}

/** Measures contenders side by side, and publishes their figures after every round. */
export async function measureRounds<Result>(
  { contenders, figures }: Measured<Result>,
  rounds: number,
  run: Run,
): Promise<readonly Figure[]> {
  return figures(await interleave(contenders, rounds, run, (results) => run.publish(figures(results))));
}

/** A part of a suite, ready to be measured. */
interface OpenMeasurement<Result> extends Measured<Result> {
  readonly close: () => Promise<unknown>;
}

/** Opens the parts of a suite, measures the contenders of all of them side by side, and closes them. */
export async function interleaveParts<Result>(
  parts: readonly (() => Promise<OpenMeasurement<Result>>)[],
  rounds: number,
  run: Run,
): Promise<readonly Figure[]> {
  const opened: OpenMeasurement<Result>[] = [];
  try {
    for (const open of parts) opened.push(await open());
    const contenders = opened.flatMap((part) => part.contenders);
    const figures = (results: readonly (readonly Result[])[]): readonly Figure[] =>
      opened.flatMap((part) =>
        part.figures(part.contenders.map((contender) => results[contenders.indexOf(contender)] ?? [])),
      );
    return await measureRounds({ contenders, figures }, rounds, run);
  } finally {
    await Promise.all(opened.map((part) => part.close()));
  }
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
