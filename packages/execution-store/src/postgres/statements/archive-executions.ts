import { defineStatement } from './define-statement.js';
import type { JournalRowKeys, LostPartitionsRow, PartitionClaims } from './journal-parameters.js';

/** The columns of `drover.executions`, one element per execution. */
export type ArchivedColumns = readonly [
  tenantIds: Buffer,
  executionIds: Buffer,
  partitions: Buffer,
  functionNames: Buffer,
  generations: Buffer,
  statuses: Buffer,
  acceptedAt: Buffer,
  finishedAt: Buffer,
  expiresAt: Buffer,
  idempotencyKeys: Buffer,
  traceIds: Buffer,
  deadLetters: Buffer,
  inputs: Buffer,
  outputs: Buffer,
  rests: Buffer,
];

export type ArchiveExecutions = readonly [
  ...claims: PartitionClaims,
  ...obsoleteRows: JournalRowKeys,
  payloadBytes: number,
  ignoreExisting: boolean,
  ...columns: ArchivedColumns,
];

/**
 * Inserts executions that have ended and deletes obsolete journal rows, in one transaction. Without `ignoreExisting` it is cheaper, and
 * fails with a unique violation when one of the executions is archived already.
 */
export const archiveExecutions = defineStatement<ArchiveExecutions, LostPartitionsRow>(
  'execution-archive',
  `select drover.archive_executions($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
     $20, $21, $22) as lost`,
);
