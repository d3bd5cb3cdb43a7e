import { defineStatement } from './define-statement.js';
import type { LostPartitionsRow, PartitionClaims } from './journal-parameters.js';

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
