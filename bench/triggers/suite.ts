import type { Leash } from '@drover/service-kit';
import type { Contender } from '../harness/rounds.js';
import type { Figure } from '../harness/table.js';

export interface Surroundings {
  readonly leash: Leash;
  /** An empty directory for the whole run. */
  readonly directory: string;
  readonly pace: Pace;
}

/** How much is sent in each round. */
export interface Pace {
  readonly rounds: number;
  readonly serviceBusMessages: number;
  readonly events: number;
  readonly queueMessages: number;
  /** Azurite needs 6 ms and more for a message, and slows down with the depth of its queue. */
  readonly azuriteMessages: number;
  /** At 200 a second. */
  readonly pacedMessages: number;
  /** Passed through one runtime in ten parts. */
  readonly memoryEvents: number;
  readonly memoryMessages: number;
}

export const thorough: Pace = {
  rounds: 5,
  serviceBusMessages: 10_000,
  events: 100_000,
  queueMessages: 5_000,
  azuriteMessages: 300,
  pacedMessages: 1_000,
  memoryEvents: 1_000_000,
  memoryMessages: 100_000,
};
/** Only shows that everything runs. */
export const quick: Pace = {
  rounds: 1,
  serviceBusMessages: 1_000,
  events: 20_000,
  queueMessages: 500,
  azuriteMessages: 100,
  pacedMessages: 200,
  memoryEvents: 20_000,
  memoryMessages: 2_000,
};

/** A part of the suite, ready to be measured: what each contender gives are samples in its figures' unit. */
export interface Measurement {
  readonly contenders: readonly Contender<readonly number[]>[];
  /** From the samples of each contender and round, in the contenders' order. */
  readonly figures: (samples: readonly (readonly (readonly number[])[])[]) => Figure[];
  readonly close: () => Promise<void>;
}
