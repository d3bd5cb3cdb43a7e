import type {
  ExecutionMode,
  FunctionPatch,
  FunctionSpec,
  RequestedExecutionMode,
  RetryPolicy,
} from '@drover/contracts';
import type { FunctionDefinition } from '@drover/dispatchers';
import { requestInvalid } from '../errors.js';
import { patchProblemsOf, problemsOf } from './spec-problems.js';

/** What a function gets that does not say otherwise. */
export interface FunctionDefaults {
  readonly timeoutMs: number;
  readonly queueSize: number;
  readonly concurrency: number;
  readonly maxRetries: number;
}

/**
 * A specification as it is kept: the numbers are settled when it is registered. Were they looked up when it is read, a
 * change of DEFAULT_TIMEOUT_MS would change functions that run, and two replicas with different settings would disagree.
 */
export type SettledSpec = Omit<FunctionSpec, 'env' | keyof FunctionDefaults | 'retry'> &
  FunctionDefaults & { readonly retry: Required<RetryPolicy> };

/** What only the registry knows of a function. */
export type Registration = Pick<
  FunctionDefinition,
  'tenantId' | 'generation' | 'revision' | 'env' | 'createdAt' | 'updatedAt'
>;

/** Those of the schema, for who does not come through it. */
export const retryDefaults: Required<RetryPolicy> = {
  handlerErrors: false,
  delayMs: 10,
  backOffFactor: 1,
  maxDelayMs: 60_000,
};

/** Checks how the fields go together, all of them at once, and fills in what is missing. */
export function settleSpec({ env, ...spec }: FunctionSpec, defaults: FunctionDefaults): SettledSpec {
  refuseIfAny(problemsOf({ ...spec, ...(env && { env }) }, modeOf(spec).mode));
  return {
    ...spec,
    timeoutMs: spec.timeoutMs ?? defaults.timeoutMs,
    queueSize: spec.queueSize ?? defaults.queueSize,
    concurrency: spec.concurrency ?? defaults.concurrency,
    maxRetries: spec.maxRetries ?? defaults.maxRetries,
    retry: { ...retryDefaults, ...spec.retry },
  };
}

/** The fields of the patch as they are kept. Each replaces the one before it as a whole, `retry` too. */
export function settlePatch(patch: FunctionPatch): FunctionPatch {
  refuseIfAny(patchProblemsOf(patch));
  return { ...patch, ...(patch.retry && { retry: { ...retryDefaults, ...patch.retry } }) };
}

/** A registered function from what is kept of it. */
export function toDefinition(spec: SettledSpec, registration: Registration): FunctionDefinition {
  const { name, timeoutMs, queueSize, concurrency, maxRetries, retry } = spec;
  const { mode } = modeOf(spec);
  return {
    ...registration,
    ...modeOf(spec),
    name,
    timeoutMs,
    queueSize,
    concurrency,
    maxRetries,
    retry,
    ...(mode === 'POOL' && spec.endpointUrl !== undefined && { endpointUrl: spec.endpointUrl }),
    ...(mode === 'LOCAL' && { handler: spec.handler ?? `${name}.js` }),
    ...(mode === 'APP' && { appFunction: parseAppFunction(spec.appFunction ?? name) }),
    spec,
  };
}

/** Where attempts run, for what was asked. */
export function modeOf({ executionMode, endpointUrl }: Pick<FunctionSpec, 'executionMode' | 'endpointUrl'>): {
  readonly mode: ExecutionMode;
  readonly requestedMode: RequestedExecutionMode;
  readonly degradationReason?: string;
} {
  const byEndpoint = endpointUrl === undefined ? 'REMOTE' : 'POOL';
  if (executionMode === undefined) return { mode: byEndpoint, requestedMode: byEndpoint };
  if (executionMode === 'EXTERNAL') return { mode: 'POOL', requestedMode: executionMode };
  if (executionMode !== 'DEPLOYMENT') return { mode: executionMode, requestedMode: executionMode };
  return {
    mode: byEndpoint,
    requestedMode: executionMode,
    degradationReason: `there are no managed replicas here: ${byEndpoint === 'POOL' ? 'calls are posted to endpointUrl' : 'each attempt runs as a job of its own'}`,
  };
}

function parseAppFunction(text: string): { readonly application?: string; readonly name: string } {
  const [first = '', second] = text.split('/');
  return second === undefined ? { name: first } : { application: first, name: second };
}

function refuseIfAny(problems: readonly string[]): void {
  if (problems.length > 0) throw requestInvalid({ problem: problems.join('; ') });
}
