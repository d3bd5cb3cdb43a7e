import { defineStatement } from './define-statement.js';

export type EvictPayloads = readonly [ownPartition: number, maxBytes: number, expiringFrom: Date, limit: number];

export interface EvictionRow {
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
