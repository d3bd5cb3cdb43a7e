import type { TenantId } from '@drover/contracts';
import type { FinishedExecution } from './execution.js';

/** An execution that has ended and whose result was not yet delivered to its callback URL. */
export interface PendingCallback {
  readonly executionId: string;
  readonly tenantId: TenantId;
  readonly partition: number;
  /** Epoch milliseconds after which delivery is given up. */
  readonly dueUntil: number;
  /** The approximate size of the output. */
  readonly bytes: number;
}

/**
 * Results that are still to be delivered to the callback URL of their call. `finish` adds them together with the end of the execution.
 * An execution with a pending callback does not leave the store, even after it has expired.
 */
export interface PendingCallbacks {
  /** Lists up to `limit` pending callbacks of these partitions, in the order of acceptance, after an execution. */
  list(partitions: readonly number[], after: string | undefined, limit: number): Promise<readonly PendingCallback[]>;
  /** Reads their executions, without inputs and in any order. Leaves out those that the store no longer has. */
  read(pending: readonly PendingCallback[]): Promise<readonly FinishedExecution[]>;
  /**
   * Removes a pending callback that was delivered or given up. Resolves once that is durable; many are removed together. A former owner
   * may do it, too: a delivered result stays delivered.
   */
  remove(pending: Pick<PendingCallback, 'tenantId' | 'executionId'>): Promise<void>;
}
