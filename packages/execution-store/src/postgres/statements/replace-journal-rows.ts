import { defineStatement } from './define-statement.js';
import type { JournalRowKeys, LostPartitionsRow, PartitionClaims } from './journal-parameters.js';

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
