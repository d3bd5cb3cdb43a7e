import type { Leash } from '@drover/service-kit';
import type { Contender } from '../harness/rounds.js';
import type { Figure } from '../harness/table.js';
import type { Generator } from './generator.js';

/** How long everything takes. */
export interface Pace {
  readonly rounds: number;
  /** For one load of one contestant in one round. */
  readonly loadMs: number;
  /** Of each load, before the first round: until everything is compiled. */
  readonly warmUpMs: number;
  /** Jobs that each queue takes and runs in one round, for each number of connections. */
  readonly jobs: number;
  /** Jobs on an idle system in one round. */
  readonly idleJobs: number;
  /** How long jobs come at a steady rate, in one round. */
  readonly acceptMs: number;
  /** Jobs that come in batches, in one round. */
  readonly batchedJobs: number;
  /** How long a function is called three times as often as it can take, in one round. */
  readonly overloadMs: number;
  /** After which memory is looked at again. */
  readonly executions: number;
}

export const thorough: Pace = {
  rounds: 5,
  loadMs: 1_500,
  warmUpMs: 1_500,
  jobs: 20_000,
  idleJobs: 40,
  acceptMs: 5_000,
  batchedJobs: 40_000,
  overloadMs: 5_000,
  executions: 1_000_000,
};
/** Only shows that everything runs. */
export const quick: Pace = {
  rounds: 1,
  loadMs: 400,
  warmUpMs: 300,
  jobs: 3_000,
  idleJobs: 20,
  acceptMs: 1_000,
  batchedJobs: 10_000,
  overloadMs: 1_500,
  executions: 50_000,
};

export interface Surroundings {
  readonly pace: Pace;
  /** Ends what was started, however the run ends. */
  readonly leash: Leash;
  readonly signal: AbortSignal;
  /** Empty, and open to the database server's user. */
  readonly directory: string;
  readonly generator: Generator;
}

/** A part of the suite, ready to be measured. */
export interface Measurement<Sample> {
  readonly contenders: readonly Contender<Sample>[];
  /** From the samples of each contender and round, in the contenders' order. */
  readonly figures: (samples: readonly (readonly Sample[])[]) => Figure[];
  readonly close: () => Promise<unknown>;
}

/** Closes everything that a part has opened so far, last first. */
export class Opened {
  readonly #closers: (() => Promise<unknown>)[] = [];

  async add<T extends { readonly close: () => Promise<unknown> }>(opening: Promise<T>): Promise<T> {
    const opened = await opening;
    this.#closers.push(() => opened.close());
    return opened;
  }

  async closeAll(): Promise<void> {
    for (const close of this.#closers.splice(0).toReversed()) await close().catch(() => undefined);
  }
}
