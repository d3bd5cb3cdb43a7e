import type { ExecutionMode, AcceptedCall } from '@drover/contracts';
import type { Clock, Observe, Randomness } from '@drover/service-kit';
import type { Dispatcher } from '@drover/dispatchers';
import type { FunctionCatalog } from '../functions/function-catalog.js';
import type { ExecutionStore, ExecutionOutcome } from '@drover/execution-store';
import type { InvocationObservation } from './observations.js';
import type { AdmissionLimits } from './live-executions.js';
import type { OrphanedExecutions } from './orphaned-executions.js';
import type { RunningAttempt } from './running-attempt.js';

/** The part of a call that its caller provides. */
export type NewCall = Omit<
  AcceptedCall,
  'executionId' | 'tenantId' | 'functionName' | 'generation' | 'kind' | 'acceptedAt'
>;

export interface EngineOptions {
  readonly catalog: FunctionCatalog;
  /** Called before a function counts as unknown. Resolves with true when the catalog should be asked once more. */
  readonly beforeUnknown?: () => Promise<boolean>;
  readonly dispatchers: Readonly<Record<ExecutionMode, Dispatcher>>;
  readonly store: ExecutionStore;
  /** Keeps executions whose function is gone and may return. */
  readonly orphans: Pick<OrphanedExecutions, 'add' | 'takeOf'>;
  /** Whether this replica owns a partition at this very moment. Absent: it owns all. */
  readonly isOwner?: (partition: number) => boolean;
  readonly limits: AdmissionLimits & { readonly maxKeys: number; readonly maxInFlight: number };
  readonly tickMs: number;
  readonly lifetimeMs: number;
  /** How long an idempotency key stands for an execution after its end. */
  readonly keyTtlMs: number;
  readonly callbackBaseUrl: (attempt: RunningAttempt) => string;
  /** An execution with a callback URL has ended. */
  readonly onResult: (accepted: AcceptedCall, callbackUrl: string, outcome: ExecutionOutcome) => void;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<InvocationObservation>;
}
