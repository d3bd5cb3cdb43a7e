import { defineStatement } from './define-statement.js';

export type ReadJournal = readonly [partition: number, afterToken: number, afterNumber: number];

export interface StoredJournalRow {
  readonly token: number;
  readonly number: number;
  readonly entries: string;
}

/** Reads one page of a partition's journal: up to 1,000 rows, and about 8 MiB, since rows differ in size. */
export const readJournal = defineStatement<ReadJournal, StoredJournalRow>(
  'execution-journal-read',
  `select token, number, entries from (
     select token, number, entries, sum(octet_length(entries)) over (order by token, number) - octet_length(entries) as before
     from drover.execution_journal where partition = $1 and (token, number) > ($2, $3) order by token, number limit 1000
   ) as page where before < 8388608 order by token, number`,
);
