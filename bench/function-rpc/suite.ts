import type { Leash } from '@drover/service-kit';
import type { Contender } from '../harness/rounds.js';
import type { Figure } from '../harness/table.js';

/** How long everything takes. */
export interface Pace {
  readonly rounds: number;
  /** For one load of one contender in one round. */
  readonly loadMs: number;
  /** Of each load, before the first round: until everything is compiled. */
  readonly warmUpMs: number;
  /** Routing decisions of one policy in one round. */
  readonly decisions: number;
  /** Workers that are started in one round, of each kind. */
  readonly starts: number;
  /** How long a worker is left alone before its memory is looked at. */
  readonly restMs: number;
}

export const thorough: Pace = {
  rounds: 7,
  loadMs: 500,
  warmUpMs: 1_000,
  decisions: 200_000,
  starts: 3,
  restMs: 1_000,
};
/** Only shows that everything runs. */
export const quick: Pace = { rounds: 1, loadMs: 60, warmUpMs: 20, decisions: 1_000, starts: 1, restMs: 50 };

export interface Surroundings {
  readonly pace: Pace;
  /** Ends what was started, however the run ends. */
  readonly leash: Leash;
  readonly signal: AbortSignal;
}

/** A part of the suite, ready to be measured. */
export interface Measurement<Sample> {
  readonly contenders: readonly Contender<Sample>[];
  /** From the samples of each contender and round, in the contenders' order. */
  readonly figures: (samples: readonly (readonly Sample[])[]) => Figure[];
  readonly close: () => Promise<unknown>;
}
