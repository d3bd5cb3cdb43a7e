import { defineStatement, type LostPartitionsRow } from './define-statement.js';

export type AwaitFormerOwners = readonly [partitions: readonly number[], fencingTokens: readonly number[]];

/**
 * Waits for the transactions of former owners of these partitions. After it, everything they wrote is visible, and nothing more can
 * come from them.
 */
export const awaitFormerOwners = defineStatement<AwaitFormerOwners, LostPartitionsRow>(
  'execution-barrier',
  'select drover.await_former_execution_homes($1, $2) as lost',
);

type ReadJournal = readonly [partition: number, afterToken: number, afterNumber: number];

interface StoredJournalRow {
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

export type FilterArchived = readonly [tenantIds: Buffer, executionIds: Buffer];

/** Returns those of the executions that the archive has, expired or not. */
export const filterArchived = defineStatement<FilterArchived, { readonly execution_id: string }>(
  'execution-archived',
  `select asked.execution_id from unnest($1::text[], $2::uuid[]) as asked (tenant_id, execution_id)
   join drover.executions using (tenant_id, execution_id)`,
);
