import type { ArchiveExecutions } from './archive-executions.js';
import { defineStatement } from './define-statement.js';
import type { LostPartitionsRow } from './journal-parameters.js';

/** The columns of `drover.execution_callbacks`, one element per execution that has a callback URL. */
export type CallbackColumns = readonly [executionIds: Buffer, tenantIds: Buffer, partitions: Buffer, dueUntil: Buffer];

export type ArchiveExecutionsWithCallbacks = readonly [...archive: ArchiveExecutions, ...callbacks: CallbackColumns];

/** As `archiveExecutions`, for batches with pending callbacks: inserts those in the same transaction. */
export const archiveExecutionsWithCallbacks = defineStatement<ArchiveExecutionsWithCallbacks, LostPartitionsRow>(
  'execution-archive-with-callbacks',
  `select drover.archive_executions_with_callbacks($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
     $18, $19, $20, $21, $22, $23, $24, $25, $26) as lost`,
);
