import type { AcceptedCall, ExecutionState, TenantId } from '@drover/contracts';
import type { Lifecycle } from '@drover/service-kit';
import type {
  ExecutionOutcome,
  FailedAttempt,
  FinishedExecution,
  KeyBinding,
  UnfinishedExecution,
} from './execution.js';
import type { PendingCallbacks } from './pending-callbacks.js';

export interface ExecutionFilter {
  readonly tenantId: TenantId;
  readonly functionName?: string;
  readonly status?: ExecutionState;
  /** Epoch milliseconds: accepted at or after `from`, and before `to`. */
  readonly from?: number;
  readonly to?: number;
  readonly idempotencyKey?: string;
  readonly traceId?: string;
  /** Dead letters that have not been redriven. */
  readonly deadLettersOnly?: boolean;
  /** Only these executions. */
  readonly executionIds?: readonly string[];
  /** `error.code` of the end. */
  readonly errorCode?: string;
  /** Oldest first; newest first by default. */
  readonly oldestFirst?: boolean;
  /** Continue after this execution. Ids grow with the time of acceptance. */
  readonly after?: string;
  readonly limit: number;
}

/** What a replica continues with after it has become the owner of partitions. */
export interface RecoveredExecutions {
  /** In the order of acceptance. */
  readonly unfinished: readonly UnfinishedExecution[];
  readonly keys: readonly KeyBinding[];
}

/**
 * Stores executions. Once `accept`, `recordRetry` or `finish` has resolved, its effect survives this process; in the memory adapter it
 * lasts as long as the process.
 *
 * Every execution belongs to a partition, and only the owner of a partition writes to it. A replica calls `recover` when it becomes the
 * owner, before it writes. Writes of a replica that is no longer the owner reject with `EXECUTION_HOME_LOST` and change nothing.
 */
export interface ExecutionStore extends Lifecycle {
  /** Whether stored executions survive the process. */
  readonly isDurable: boolean;
  /** Results that are still to be delivered to a callback URL. Absent where nothing survives the process. */
  readonly pendingCallbacks?: PendingCallbacks;
  /** Stores accepted calls, all or none. */
  accept(calls: readonly AcceptedCall[]): Promise<void>;
  /** Stores that an attempt failed and another one follows, so that attempt numbers never go back. Does nothing for unknown executions. */
  recordRetry(accepted: AcceptedCall, failures: readonly FailedAttempt[], attempts: number): Promise<void>;
  /**
   * Stores the end of an execution, also of one that was not accepted through this store. The first end stands. Set `isAwaited` to
   * false when no caller waits for it: it may be written a little later, with others.
   */
  finish(accepted: AcceptedCall, outcome: ExecutionOutcome, isAwaited?: boolean): Promise<void>;
  /** Finds an execution that has ended and has not expired. The state of others is known to the engine of their owner. */
  find(tenantId: TenantId, executionId: string): Promise<FinishedExecution | undefined>;
  /** Lists executions that have ended and have not expired, in the order of their ids. */
  list(filter: ExecutionFilter): Promise<readonly FinishedExecution[]>;
  /** Marks a dead letter as redriven. Returns false if it was redriven before, or is no dead letter. */
  markRedriven(tenantId: TenantId, executionId: string, redrivenAs: string): Promise<boolean>;
  /** Counts the dead letters that the filter selects, whatever its limit. */
  countDeadLetters(filter: ExecutionFilter): Promise<number>;
  /** Deletes dead letters that the filter selects, the oldest up to its limit. Returns how many. They can no longer be read. */
  deleteDeadLetters(filter: ExecutionFilter): Promise<number>;
  /** Reads what the former owners of these partitions left. Counts an attempt that may have been under way as used. */
  recover(partitions: readonly number[]): Promise<RecoveredExecutions>;
}
