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

type EvictPayloads = readonly [ownPartition: number, maxBytes: number, expiringFrom: Date, limit: number];

interface EvictionRow {
  readonly evicted_rows: number;
  /** The latest expiry among the evicted executions. */
  readonly evicted_to: Date | null;
  /** Bytes of all payloads after the eviction; null while another replica evicts. */
  readonly total: number | null;
}

/** Drops inputs and outputs of the executions that expire first, until all payloads take at most `maxBytes`. */
export const evictPayloads = defineStatement<EvictPayloads, EvictionRow>(
  'executions-evict',
  'select evicted_rows, evicted_to, total from drover.evict_execution_payloads($1, $2, $3, $4)',
);

/** The sum is stored in the row of this partition. */
type RecountPayloadBytes = readonly [ownPartition: number];

export const recountPayloadBytes = defineStatement<RecountPayloadBytes, object>(
  'executions-recount',
  'select drover.recount_execution_bytes($1)',
);
