import type { TenantId } from '@drover/contracts';

/**
 * Functions are spread over this many partitions. Each partition has one home, a replica of the control plane, where all
 * queues, slots and keys of its functions live: so there is one queue and one limit per function, however many replicas.
 */
export const partitionCount = 16;

/** The partition of a function, the same in every process and release. */
export function partitionOf(tenantId: TenantId, functionName: string): number {
  // FNV-1a: short, fast, and spread well enough over sixteen.
  let hash = 0x811c9dc5;
  const text = `${tenantId}/${functionName}`;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return ((hash ^ (hash >>> 15)) >>> 0) % partitionCount;
}

/** The partition is written into the last byte of an execution's id: whoever has the id knows where to ask. */
export function partitionOfExecution(executionId: string): number {
  return Number.parseInt(executionId.slice(-2), 16) % partitionCount;
}

/** Proof that this replica is the home of a partition; everything written under it carries it. */
export interface FencingTokens {
  /** Undefined when somebody else is the home, or nobody. */
  tokenOf(partition: number): number | undefined;
}
