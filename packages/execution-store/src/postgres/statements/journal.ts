import {
  defineStatement,
  type JournalRowKeys,
  type LostPartitionsRow,
  type PartitionClaims,
} from './define-statement.js';

/** One new row for each claimed partition. */
export type AppendToJournal = readonly [
  ...claims: PartitionClaims,
  rowTokens: Buffer,
  rowNumbers: Buffer,
  entries: Buffer,
];

export const appendToJournal = defineStatement<AppendToJournal, LostPartitionsRow>(
  'execution-journal-append',
  'select drover.append_to_execution_journal($1, $2, $3, $4, $5) as lost',
);

export type ReplaceJournalRows = readonly [
  ...claims: PartitionClaims,
  ...deleted: JournalRowKeys,
  ...inserted: JournalRowKeys,
  insertedEntries: Buffer,
];

/** Deletes rows and inserts others with what is left of them. Idempotent: may be sent again when its outcome is unknown. */
export const replaceJournalRows = defineStatement<ReplaceJournalRows, LostPartitionsRow>(
  'execution-journal-rewrite',
  'select drover.rewrite_execution_journal($1, $2, $3, $4, $5, $6, $7, $8, $9) as lost',
);

export type VoidJournalRows = readonly [...claims: PartitionClaims, ...rows: JournalRowKeys];

/**
 * Makes rows empty whose write was never confirmed: it empties those that were written, and takes the keys of the others, so that a
 * write that arrives late violates the primary key.
 */
export const voidJournalRows = defineStatement<VoidJournalRows, LostPartitionsRow>(
  'execution-journal-void',
  'select drover.void_execution_journal($1, $2, $3, $4, $5) as lost',
);
