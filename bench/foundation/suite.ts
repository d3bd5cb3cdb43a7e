import type { Leash, Secret } from '@drover/service-kit';
import type { Contender } from '../harness/rounds.js';
import type { Figure } from '../harness/table.js';

export interface Surroundings {
  readonly url: Secret;
  readonly leash: Leash;
  /** An empty directory that the database server's user can reach. */
  readonly directory: string;
  readonly pace: Pace;
}

/** How long everything takes. */
export interface Pace {
  readonly rounds: number;
  readonly insertMs: number;
  readonly pacedMs: number;
  readonly burstMs: number;
  readonly helpRuns: number;
}

export const thorough: Pace = { rounds: 5, insertMs: 1_500, pacedMs: 10_000, burstMs: 1_500, helpRuns: 2 };
/** Only shows that everything runs. */
export const quick: Pace = { rounds: 1, insertMs: 200, pacedMs: 1_000, burstMs: 200, helpRuns: 1 };

/** A part of the suite, ready to be measured: what each contender gives are samples in its figures' unit. */
export interface Measurement {
  readonly contenders: readonly Contender<readonly number[]>[];
  /** From the samples of each contender and round, in the contenders' order. */
  readonly figures: (samples: readonly (readonly (readonly number[])[])[]) => Figure[];
  readonly close: () => Promise<void>;
}
