import type { CodedError, ColdStartBreakdown } from '@drover/contracts';
import type { InvocationResponse, RetryContextInit, RpcTraceContextInit } from '@drover/function-rpc';
import type { FunctionDefinition } from '../applications/function-definition.js';
import type { BindingData } from '../bindings/binding-expressions.js';
import type { InvocationInputs, WorkerCapabilities } from '../bindings/invocation-inputs.js';

/** A request to run a function once. */
export interface InvocationCall {
  readonly definition: FunctionDefinition;
  readonly inputs: (capabilities: WorkerCapabilities) => InvocationInputs;
  /** Data for the expressions of output bindings. */
  readonly bindingData?: (() => BindingData) | undefined;
  /** Identifies the message or execution over all its attempts; undefined for requests that a client sends only once. */
  readonly messageId?: string | undefined;
  readonly trace: RpcTraceContextInit;
  readonly retry?: RetryContextInit | undefined;
  /** Arrival on the monotonic clock, if the call waited before it came to its job host. */
  readonly arrivedMs?: number | undefined;
  /**
   * Aborts when the caller disconnects, its message is lost, or the runtime stops. A call in the queue is cancelled. A function
   * that was started is told and runs to its end; its outputs are written.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Finishes an invocation whose function has returned, which writes its outputs: the invocation ends with what this resolves
   * with. Never rejects. Undefined: the invocation ends with its response.
   */
  readonly finish?: ((returned: SucceededInvocation) => Promise<InvocationOutcome>) | undefined;
  /** Called once, before the invocation is sent to its worker. */
  readonly onAssigned?: (assigned: InvocationAssignment) => void;
}

export interface InvocationAssignment {
  readonly invocationId: string;
  readonly workerId: string;
  readonly capabilities: WorkerCapabilities;
  /** Ends the invocation with this error without waiting for the worker, for one that waits for what can no longer arrive. */
  abandon(error: CodedError): void;
}

/** The outcome of an invocation. The error of a failed one says whether a retry may help. */
export type InvocationOutcome = InvocationEnd & {
  /** Where its time went; undefined if it did not wait for a worker. */
  readonly coldStartMs?: ColdStartBreakdown;
};

export interface SucceededInvocation {
  readonly kind: 'succeeded';
  readonly invocationId: string;
  readonly response: InvocationResponse;
}

type InvocationEnd =
  | SucceededInvocation
  | {
      readonly kind: 'failed';
      readonly invocationId: string;
      readonly error: CodedError;
      readonly response?: InvocationResponse;
    }
  /** The function rejected its message: it must not be retried. */
  | {
      readonly kind: 'rejected';
      readonly invocationId: string;
      readonly reason: string;
      readonly response: InvocationResponse;
    };

/** Runs functions on workers. Never throws: every call resolves with an outcome. */
export interface Invoker {
  invoke(call: InvocationCall): Promise<InvocationOutcome>;
}
