import type {
  ExecutionError,
  ExecutionState,
  FinalExecutionState,
  AcceptedCall,
  Payload,
  TenantId,
} from '@drover/contracts';
import type { Lifecycle } from '@drover/service-kit';
import type { CallbackMarks } from './callback-marks.js';

/** An attempt that failed. */
export interface FailedAttempt {
  readonly attempt: number;
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly error: ExecutionError;
}

/** How an execution ended. Said once. */
export interface ExecutionOutcome {
  readonly status: FinalExecutionState;
  readonly finishedAt: number;
  readonly attempts: number;
  /** The latest ten. */
  readonly failures: readonly FailedAttempt[];
  readonly output?: Payload | undefined;
  readonly error?: ExecutionError | undefined;
  readonly statusCode?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly coldStart?: boolean | undefined;
  readonly initDurationMs?: number | undefined;
  /** It failed for good and was nobody's to wait for: kept longer, listed, can be redriven. */
  readonly deadLetter: boolean;
}

/** An execution that has ended, as it is kept. */
export interface FinishedExecution {
  readonly accepted: AcceptedCall;
  readonly outcome: ExecutionOutcome;
  /** Input and output are no longer kept; `payload.json` is `null` then. */
  readonly evicted: boolean;
  readonly redrivenAs?: string;
}

/** An execution that was accepted and has not ended, as it is found after a restart or a move. */
export interface UnfinishedExecution {
  readonly accepted: AcceptedCall;
  /** The highest attempt number that may have been used: the next one is higher. */
  readonly attempts: number;
  readonly failures: readonly FailedAttempt[];
}

/** A key that is bound to an execution that has ended; the binding lasts until `expiresAt`. */
export interface KeyBinding {
  readonly tenantId: TenantId;
  readonly functionName: string;
  readonly generation: number;
  readonly idempotencyKey: string;
  readonly executionId: string;
  readonly expiresAt: number;
}

export interface ExecutionFilter {
  readonly tenantId: TenantId;
  readonly functionName?: string;
  readonly status?: ExecutionState;
  /** Epoch milliseconds: accepted at or after `from`, and before `to`. */
  readonly from?: number;
  readonly to?: number;
  readonly idempotencyKey?: string;
  readonly traceId?: string;
  /** Dead letters that nobody has redriven. */
  readonly deadLettersOnly?: boolean;
  /** Oldest first; newest first unless told. */
  readonly oldestFirst?: boolean;
  /** Continue behind this execution. Ids grow with the time of acceptance. */
  readonly after?: string;
  readonly limit: number;
}

/**
 * Keeps executions. What `accept` and `finish` have resolved for survives this process; with the memory adapter it lives as
 * long as the process. The store is the home's: only who holds a partition writes what belongs to it.
 */
export interface ExecutionStore extends Lifecycle {
  /** Whether what is accepted survives the process. */
  readonly isDurable: boolean;
  /** Where results are marked that are to be delivered elsewhere: `finish` does. Absent where nothing outlives the process. */
  readonly callbackMarks?: CallbackMarks;
  /** All or none; rejects with `EXECUTION_HOME_LOST` when this replica is not the home of one of them any more. */
  accept(calls: readonly AcceptedCall[]): Promise<void>;
  /** Notes that an attempt failed and another will follow, so that numbers never go back. */
  recordRetry(accepted: AcceptedCall, failures: readonly FailedAttempt[], attempts: number): Promise<void>;
  /**
   * The end of an execution, also of one that was never accepted here. When nobody waits for it, it may take a moment longer
   * and cost less.
   */
  finish(accepted: AcceptedCall, outcome: ExecutionOutcome, isAwaited?: boolean): Promise<void>;
  /** Finished ones only: whoever runs an execution knows more about it than its store. */
  find(tenantId: TenantId, executionId: string): Promise<FinishedExecution | undefined>;
  /** Finished ones, in the order of their ids. */
  list(filter: ExecutionFilter): Promise<readonly FinishedExecution[]>;
  /** False when somebody was quicker, or it is no dead letter. */
  markRedriven(tenantId: TenantId, executionId: string, redrivenAs: string): Promise<boolean>;
  /** What is to be gone on with after this replica became the home of these partitions. In the order of acceptance. */
  recover(partitions: readonly number[]): Promise<{
    readonly unfinished: readonly UnfinishedExecution[];
    readonly keys: readonly KeyBinding[];
  }>;
}
