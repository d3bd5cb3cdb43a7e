import { defineStatement } from './define-statement.js';

export type RemoveExpiredExecutions = readonly [
  partitions: readonly number[],
  fencingTokens: readonly number[],
  /** For each partition: the journal has no entry of an execution that ended before. */
  journalClearBefore: readonly Date[],
  now: Date,
  limit: number,
];

export const removeExpiredExecutions = defineStatement<RemoveExpiredExecutions, { readonly removed: number }>(
  'executions-expire',
  `select drover.remove_expired_executions($1::integer[], $2::bigint[], $3::timestamptz[], $4, $5) as removed`,
);
