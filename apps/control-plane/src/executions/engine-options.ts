import type { ExecutionMode, AcceptedCall } from '@drover/contracts';
import type { Clock, Observe, Randomness } from '@drover/service-kit';
import type { Dispatcher, FunctionCatalog } from '@drover/dispatchers';
import type { ExecutionStore, ExecutionOutcome } from '@drover/execution-store';
import type { InvocationObservation } from './observations.js';
import type { AdmissionLimits } from './admission.js';
import type { RunningAttempt } from './running-attempt.js';

/** What a caller brings; the engine adds who it is and when it came. */
export type NewCall = Omit<
  AcceptedCall,
  'executionId' | 'tenantId' | 'functionName' | 'generation' | 'kind' | 'acceptedAt'
>;

export interface EngineOptions {
  readonly catalog: FunctionCatalog;
  /** Asked before a name is said to be nobody's; true when it is worth to look once more. */
  readonly beforeUnknown?: () => Promise<boolean>;
  readonly dispatchers: Readonly<Record<ExecutionMode, Dispatcher>>;
  readonly store: ExecutionStore;
  /** Whether this is the home of a partition at this very moment; it always is unless told otherwise. */
  readonly isOwner?: (partition: number) => boolean;
  readonly limits: AdmissionLimits & { readonly maxKeys: number; readonly maxInFlight: number };
  readonly tickMs: number;
  readonly lifetimeMs: number;
  /** How long a key stands for an execution after its end. */
  readonly keyTtlMs: number;
  readonly callbackBaseUrl: (attempt: RunningAttempt) => string;
  /** An execution has ended that somebody wants to hear of elsewhere. */
  readonly onResult: (accepted: AcceptedCall, callbackUrl: string, outcome: ExecutionOutcome) => void;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<InvocationObservation>;
}
