import type { RpcFunctionMetadata } from '@drover/function-rpc';

/** A trigger, an input or an output of a function, as the app declares it. */
export interface Binding {
  readonly name: string;
  /** As the app spells it; compare case-insensitively. */
  readonly type: string;
  readonly direction: 'in' | 'out' | 'inout';
  readonly dataType: 'string' | 'binary' | 'stream' | undefined;
  /** All keys of the binding, unknown ones included: they may be options of the trigger. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** How a failed invocation is retried in place. `maxRetries` -1 retries without a limit. */
export type RetryPolicy =
  | { readonly strategy: 'fixedDelay'; readonly maxRetries: number; readonly delayMs: number }
  | {
      readonly strategy: 'exponentialBackoff';
      readonly maxRetries: number;
      readonly minimumMs: number;
      readonly maximumMs: number;
    };

/** One function of an application, checked: it has exactly one trigger and valid names. */
export interface FunctionDefinition {
  /** Id of the function at the worker. */
  readonly id: string;
  readonly name: string;
  readonly trigger: Binding;
  readonly inputs: readonly Binding[];
  /** Without `$return`. */
  readonly outputs: readonly Binding[];
  readonly returns: Binding | undefined;
  readonly retry: RetryPolicy | undefined;
  readonly isDisabled: boolean;
  /** Sent to the worker when the function is loaded. */
  readonly metadata: RpcFunctionMetadata;
}

/** Why a function does not run, worded for the author of the app. */
export interface FunctionProblem {
  readonly functionName: string;
  readonly file: string | undefined;
  readonly problem: string;
  /** Code could not be loaded: functions of it may be missing. */
  readonly isLoadFailure?: true;
}
