import type { CodedError } from '@drover/contracts';
import type { InvocationResponse, RetryContextInit, RpcTraceContextInit } from '@drover/function-rpc';
import type { FunctionDefinition } from '../applications/function-definition.js';
import type { BindingData } from '../bindings/binding-expressions.js';
import type { InvocationInputs, WorkerCapabilities } from '../bindings/invocation-inputs.js';

/** One run of a function, on its way to some worker and back. */
export interface InvocationCall {
  readonly definition: FunctionDefinition;
  readonly inputs: (capabilities: WorkerCapabilities) => InvocationInputs;
  /** What expressions of its output bindings can refer to. */
  readonly bindingData?: (() => BindingData) | undefined;
  readonly trace: RpcTraceContextInit;
  readonly retry?: RetryContextInit | undefined;
  /** Calls with the same key go to the same worker while it lives, where routing is sticky. */
  readonly sessionKey?: string | undefined;
  /** Undefined: the function's own. */
  readonly timeoutMs?: number | undefined;
  /** Whoever waits for it is gone, or we stop. */
  readonly signal?: AbortSignal | undefined;
  /** Told once, right before it is sent: who will run it, and under which id. */
  readonly onAssigned?: (assigned: Assignment) => void;
}

export interface Assignment {
  readonly invocationId: string;
  readonly workerId: string;
  readonly capabilities: WorkerCapabilities;
}

/** How a run ended. A failed one says whether another try may help, in its error's traits. */
export type InvocationOutcome =
  | { readonly kind: 'succeeded'; readonly invocationId: string; readonly response: InvocationResponse }
  | {
      readonly kind: 'failed';
      readonly invocationId: string;
      readonly error: CodedError;
      readonly response?: InvocationResponse;
    }
  /** The function itself said so: its message is never to be tried again. */
  | {
      readonly kind: 'rejected';
      readonly invocationId: string;
      readonly reason: string;
      readonly response: InvocationResponse;
    };

/** Runs functions on workers. Never throws: every call comes to an outcome. */
export interface Invoker {
  invoke(call: InvocationCall): Promise<InvocationOutcome>;
}
