import type { RpcFunctionMetadata } from '@drover/function-rpc';

/** A trigger, an input or an output of a function, as its app declared it. */
export interface Binding {
  readonly name: string;
  /** As written by the app; compare without regard to case. */
  readonly type: string;
  readonly direction: 'in' | 'out' | 'inout';
  readonly dataType: 'string' | 'binary' | 'stream' | undefined;
  /** Everything the app wrote, unknown keys included: they may be options of the trigger. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** How often and how long apart a failed invocation is tried again in place; -1 retries go on for ever. */
export type RetryPolicy =
  | { readonly strategy: 'fixedDelay'; readonly maxRetries: number; readonly delayMs: number }
  | {
      readonly strategy: 'exponentialBackoff';
      readonly maxRetries: number;
      readonly minimumMs: number;
      readonly maximumMs: number;
    };

/** One function of an application, checked: it has exactly one trigger and its names are good. */
export interface FunctionDefinition {
  /** What the worker calls it. */
  readonly id: string;
  readonly name: string;
  readonly trigger: Binding;
  readonly inputs: readonly Binding[];
  /** Without `$return`. */
  readonly outputs: readonly Binding[];
  readonly returns: Binding | undefined;
  readonly retry: RetryPolicy | undefined;
  readonly isDisabled: boolean;
  /** What the worker is told to load. */
  readonly metadata: RpcFunctionMetadata;
}

/** Why a function of an app does not run, in words for its author. */
export interface FunctionProblem {
  readonly functionName: string;
  readonly file: string | undefined;
  readonly problem: string;
}
