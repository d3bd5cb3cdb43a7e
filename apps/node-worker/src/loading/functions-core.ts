import type { InvocationRequest, InvocationResponseInit } from '@drover/function-rpc';

/**
 * The types of the module `@azure/functions-core` that a programming model, such as the npm package `@azure/functions`,
 * loads at run time: only the parts that are used. Enumerations are names here and numbers on the wire.
 */
export type LogLevelName = 'trace' | 'debug' | 'information' | 'warning' | 'error' | 'critical' | 'none';

export type LogCategoryName = 'user' | 'system' | 'customMetric';

export type FunctionCallback = (...args: unknown[]) => unknown;

/** A binding as the app wrote it, with every option. BindingInfo of the protocol has fewer. */
export interface CoreBinding {
  readonly type?: string | null | undefined;
  readonly direction?: string | null | undefined;
  readonly dataType?: string | null | undefined;
  readonly properties?: Readonly<Record<string, unknown>> | null;
  readonly [option: string]: unknown;
}

export interface CoreDuration {
  readonly seconds?: number | bigint | null;
  readonly nanos?: number | null;
}

export interface CoreRetryOptions {
  readonly maxRetryCount?: number | null;
  readonly retryStrategy?: string | null;
  readonly delayInterval?: CoreDuration | null;
  readonly minimumInterval?: CoreDuration | null;
  readonly maximumInterval?: CoreDuration | null;
}

/** What an app registers. */
export interface CoreFunctionMetadata {
  readonly name: string;
  readonly functionId?: string | null;
  readonly bindings: Readonly<Record<string, CoreBinding>>;
  readonly retryOptions?: CoreRetryOptions | null;
}

/** What a programming model sees of a function during an invocation. */
export interface CoreContextMetadata extends CoreFunctionMetadata {
  readonly directory?: string;
  readonly scriptFile?: string;
  readonly entryPoint?: string;
}

export type InvocationState = 'preInvocationHooks' | 'invocation' | 'postInvocationHooks';

/** One invocation, as a programming model sees it. */
export interface CoreInvocationContext {
  readonly invocationId: string;
  readonly request: InvocationRequest;
  readonly metadata: CoreContextMetadata;
  readonly state?: InvocationState | undefined;
  log(level: LogLevelName, category: LogCategoryName, message: string): void;
}

export interface InvocationArguments {
  readonly context: unknown;
  readonly inputs: unknown[];
}

/** The response of the protocol, except that cookies have names in place of numbers. */
export type CoreInvocationResponse = InvocationResponseInit;

/** Runs one invocation: arguments, call, response. Models of libraries return promises, those of this worker values. */
export interface InvocationModel {
  getArguments(): InvocationArguments | Promise<InvocationArguments>;
  invokeFunction(context: unknown, inputs: unknown[], callback: FunctionCallback): unknown;
  getResponse(context: unknown, result: unknown): CoreInvocationResponse | Promise<CoreInvocationResponse>;
}

export type CoreCapabilities = Record<string, string>;

/** Adapts invocations to the way an app is written. The v4 model comes from the library, the v3 model from this worker. */
export interface ProgrammingModel {
  readonly name: string;
  readonly version: string;
  getInvocationModel(context: CoreInvocationContext): InvocationModel | Promise<InvocationModel>;
  getCapabilities?(defaults: CoreCapabilities): CoreCapabilities | Promise<CoreCapabilities>;
}
