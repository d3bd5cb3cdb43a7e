import type {
  ExecutionMode,
  FunctionQueueState,
  FunctionSpec,
  RequestedExecutionMode,
  FunctionRetryPolicy,
  TenantId,
} from '@drover/contracts';
import type { Secret } from '@drover/service-kit';

/** What a caller has decided about the queue of a function. */
export interface QueueControl {
  readonly state: FunctionQueueState;
  /** The function is removed when its queue is empty. */
  readonly isRemoving: boolean;
  /** Epoch milliseconds. */
  readonly changedAt: number;
}

/** One version of a function with all defaults applied. Immutable: a change creates another definition. */
export interface FunctionDefinition {
  readonly tenantId: TenantId;
  readonly name: string;
  /** Number of this registration. A name that is registered again gets a higher one, which fences late results of the old. */
  readonly generation: number;
  /** Grows with every change. */
  readonly revision: number;
  /** The mode that attempts run in. */
  readonly mode: ExecutionMode;
  readonly requestedMode: RequestedExecutionMode;
  readonly degradationReason?: string;
  readonly timeoutMs: number;
  readonly concurrency: number;
  readonly queueSize: number;
  readonly maxRetries: number;
  readonly retry: Required<FunctionRetryPolicy>;
  /** POOL only. */
  readonly endpointUrl?: string;
  /** LOCAL: path of the module, relative to the folder of handlers. */
  readonly handler?: string;
  /** APP only. */
  readonly appFunction?: { readonly application?: string; readonly name: string };
  /** REMOTE and LOCAL. Revealed only where a process is started. */
  readonly env: Readonly<Record<string, Secret>>;
  /** The specification as it was sent, without `env`. Fields that only appear in responses are read from here. */
  readonly spec: Omit<FunctionSpec, 'env'>;
  /** Set for a function of a deployed application that was not registered by a caller. */
  readonly discovered?: { readonly application: string; readonly trigger: string };
  /** Absent: the queue is open and always was. */
  readonly queueControl?: QueueControl;
  readonly createdAt?: Date;
  readonly updatedAt?: Date;
}
