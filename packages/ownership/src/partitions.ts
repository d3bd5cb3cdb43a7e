import type { TenantId } from '@drover/contracts';

/**
 * Number of partitions that functions are spread over. One replica owns each partition and holds the queues, slots and idempotency
 * keys of its functions in memory, so that a function has one queue and one limit however many replicas there are. The number is
 * fixed: it is part of the ids of executions.
 */
export const partitionCount = 16;

export const allPartitions: readonly number[] = Array.from({ length: partitionCount }, (_, partition) => partition);

/** Returns the partition of a function, the same in every process and release. */
export function partitionOf(tenantId: TenantId, functionName: string): number {
  // FNV-1a: short, fast, and spread well enough over sixteen.
  let hash = 0x811c9dc5;
  const text = `${tenantId}/${functionName}`;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return ((hash ^ (hash >>> 15)) >>> 0) % partitionCount;
}

/** Returns the partition of an execution: the last byte of its id, so that every replica can route by the id alone. */
export function partitionOfExecution(executionId: string): number {
  return Number.parseInt(executionId.slice(-2), 16) % partitionCount;
}

/**
 * Fencing tokens of the partitions that this replica owns. A token grows with every change of owner. A write carries the token and
 * takes effect only if it is still the partition's: that refuses the late write of a former owner that was frozen or cut off.
 */
export interface FencingTokens {
  /** Returns undefined when this replica does not own the partition at this moment. */
  tokenOf(partition: number): number | undefined;
  /**
   * Returns the token also while the lease of this replica is over and the database has not said yet whether another replica took the
   * partition. Only for writes about work that runs already, and only if the database checks the token.
   */
  heldTokenOf(partition: number): number | undefined;
}
