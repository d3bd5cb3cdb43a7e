import { defineStatement } from './define-statement.js';
import type { LostPartitionsRow } from './journal-parameters.js';

export type AwaitFormerOwners = readonly [partitions: readonly number[], fencingTokens: readonly number[]];

/**
 * Waits for the transactions of former owners of these partitions. After it, everything they wrote is visible, and nothing more can
 * come from them.
 */
export const awaitFormerOwners = defineStatement<AwaitFormerOwners, LostPartitionsRow>(
  'execution-barrier',
  'select drover.await_former_execution_homes($1, $2) as lost',
);
