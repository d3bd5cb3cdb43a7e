import { defineStatement } from './define-statement.js';
import type { JournalRowKeys, LostPartitionsRow, PartitionClaims } from './journal-parameters.js';

export type VoidJournalRows = readonly [...claims: PartitionClaims, ...rows: JournalRowKeys];

/**
 * Makes rows empty whose write was never confirmed: it empties those that were written, and takes the keys of the others, so that a
 * write that arrives late violates the primary key.
 */
export const voidJournalRows = defineStatement<VoidJournalRows, LostPartitionsRow>(
  'execution-journal-void',
  'select drover.void_execution_journal($1, $2, $3, $4, $5) as lost',
);
