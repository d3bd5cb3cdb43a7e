import type {
  AcceptedCall,
  ColdStartBreakdown,
  ExecutionError,
  FinalExecutionState,
  Payload,
  TenantId,
} from '@drover/contracts';

/** An attempt that failed. */
export interface FailedAttempt {
  readonly attempt: number;
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly error: ExecutionError;
  /** Set when the attempt does not count towards `maxRetries`, because the function did not take the call. */
  readonly isUncounted?: true;
}

/** The end of an execution. The first one that is stored stands. */
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
  /** Where the time of its last attempt went, if that waited for a function worker. */
  readonly coldStartMs?: ColdStartBreakdown | undefined;
  /** The last attempt failed in a way that may pass: the idempotency key does not stand for this end. */
  readonly isTransient?: boolean | undefined;
  /** It failed permanently and no caller waited for it: it is stored longer, listed, and can be redriven. */
  readonly deadLetter: boolean;
}

/** A stored execution that has ended. */
export interface FinishedExecution {
  readonly accepted: AcceptedCall;
  readonly outcome: ExecutionOutcome;
  /** Input and output were dropped to free space: `payload.json` is `null`, and there is no `output`. */
  readonly evicted: boolean;
  readonly redrivenAs?: string;
}

/** A stored execution that has not ended, as it is recovered after a restart or a change of owner. */
export interface UnfinishedExecution {
  readonly accepted: AcceptedCall;
  /** The highest attempt number that may have been used. The next attempt must have a higher one. */
  readonly attempts: number;
  readonly failures: readonly FailedAttempt[];
}

/** An idempotency key that is bound to an execution that has ended, until `expiresAt`. */
export interface KeyBinding {
  readonly tenantId: TenantId;
  readonly functionName: string;
  readonly generation: number;
  readonly idempotencyKey: string;
  readonly executionId: string;
  readonly expiresAt: number;
}

/** More than the clocks of two replicas may differ. */
const clockSkewMs = 60_000;

/** Whether a former owner may have started an attempt. It has not when the execution was to start later. */
export function mayHaveStarted({ runAt }: AcceptedCall, now: number): boolean {
  return runAt === undefined || runAt <= now + clockSkewMs;
}
