import {
  defineStatement,
  type JournalRowKeys,
  type LostPartitionsRow,
  type PartitionClaims,
} from './define-statement.js';

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

/** The columns of `drover.execution_callbacks`, one element per execution that has a callback URL. */
export type CallbackColumns = readonly [executionIds: Buffer, tenantIds: Buffer, partitions: Buffer, dueUntil: Buffer];

type ArchiveExecutionsWithCallbacks = readonly [...archive: ArchiveExecutions, ...callbacks: CallbackColumns];

/** As `archiveExecutions`, for batches with pending callbacks: inserts those in the same transaction. */
export const archiveExecutionsWithCallbacks = defineStatement<ArchiveExecutionsWithCallbacks, LostPartitionsRow>(
  'execution-archive-with-callbacks',
  `select drover.archive_executions_with_callbacks($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
     $18, $19, $20, $21, $22, $23, $24, $25, $26) as lost`,
);
