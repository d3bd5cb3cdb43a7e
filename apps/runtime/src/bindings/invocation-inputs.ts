import type { ParameterBindingInit, TypedDataInit } from '@drover/function-rpc';

/** Capabilities that a worker reported, by name. Any value but the empty string means that the capability is on. */
export type WorkerCapabilities = Readonly<Record<string, string>>;

/** The arguments of a handler, encoded for the capabilities of the worker that runs it. */
export interface InvocationInputs {
  readonly inputData: readonly ParameterBindingInit[];
  readonly triggerMetadata: Readonly<Record<string, TypedDataInit>>;
}
