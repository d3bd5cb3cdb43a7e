import type {
  ExecutionMode,
  FunctionPatch,
  FunctionSpec,
  RequestedExecutionMode,
  FunctionRetryPolicy,
} from '@drover/contracts';
import type { FunctionDefinition } from '@drover/dispatchers';
import { requestInvalid } from '../errors.js';
import { patchProblemsOf, problemsOf } from './spec-problems.js';

/** Defaults for fields that a registration leaves out. */
export interface FunctionDefaults {
  readonly timeoutMs: number;
  readonly queueSize: number;
  readonly concurrency: number;
  readonly maxRetries: number;
}

/**
 * A specification as stored, with defaults applied at registration. Applying them on every read would let a change of
 * DEFAULT_TIMEOUT_MS alter running functions and make replicas with different settings disagree.
 */
export type SettledSpec = Omit<FunctionSpec, 'env' | keyof FunctionDefaults | 'retry'> &
  FunctionDefaults & { readonly retry: Required<FunctionRetryPolicy> };

/** Fields of a definition that come from the registry, not from the specification. */
export type Registration = Pick<
  FunctionDefinition,
  'tenantId' | 'generation' | 'revision' | 'env' | 'createdAt' | 'updatedAt'
>;

/** The defaults of the HTTP schema, for definitions that do not pass through it. */
export const retryDefaults: Required<FunctionRetryPolicy> = {
  handlerErrors: false,
  delayMs: 10,
  backOffFactor: 1,
  maxDelayMs: 60_000,
};

/** Checks the combination of fields, applies defaults, and throws one error that lists every problem. */
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

/** Returns the patch as stored. Each field replaces the old value as a whole, `retry` included. */
export function settlePatch(patch: FunctionPatch): FunctionPatch {
  refuseIfAny(patchProblemsOf(patch));
  return { ...patch, ...(patch.retry && { retry: { ...retryDefaults, ...patch.retry } }) };
}

/** Builds the definition of a registered function from its stored specification. */
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

/** Whether attempts start a program that the registration names: then `functions:write` alone does not suffice. */
export function runsCommand(
  spec: Pick<FunctionSpec, 'executionMode' | 'endpointUrl' | 'command' | 'runtimeCommand'>,
): boolean {
  return modeOf(spec).mode === 'REMOTE' && (spec.command !== undefined || spec.runtimeCommand !== undefined);
}

/** Resolves the requested execution mode to the one that attempts use. */
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
    degradationReason: `managed replicas are not available: ${byEndpoint === 'POOL' ? 'calls are posted to endpointUrl' : 'each attempt runs as a job of its own'}`,
  };
}

function parseAppFunction(text: string): { readonly application?: string; readonly name: string } {
  const [first = '', second] = text.split('/');
  return second === undefined ? { name: first } : { application: first, name: second };
}

function refuseIfAny(problems: readonly string[]): void {
  if (problems.length > 0) throw requestInvalid({ problem: problems.join('; ') });
}
