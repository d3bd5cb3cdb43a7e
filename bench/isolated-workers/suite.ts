import type { Contender } from '../harness/rounds.js';
import type { Figure } from '../harness/table.js';

/** How long everything takes. */
export interface Pace {
  readonly rounds: number;
  /** For one load of one contender in one round. */
  readonly loadMs: number;
  /** Of each load, before the first round: until everything is compiled. */
  readonly warmUpMs: number;
  /** Workers that each contender starts in one round. */
  readonly starts: number;
  /** Workers that are killed in one round, for each way to notice it. */
  readonly kills: number;
}

export const thorough: Pace = { rounds: 7, loadMs: 250, warmUpMs: 1_000, starts: 3, kills: 3 };
/** Only shows that everything runs. */
export const quick: Pace = { rounds: 1, loadMs: 60, warmUpMs: 20, starts: 1, kills: 1 };

/** A part of the suite, ready to be measured: what each contender gives are samples in its figures' unit. */
export interface Measurement {
  readonly contenders: readonly Contender<readonly number[]>[];
  /** From the samples of each contender and round, in the contenders' order. */
  readonly figures: (samples: readonly (readonly (readonly number[])[])[]) => Figure[];
  readonly close: () => Promise<void>;
}
