import {
  FunctionSpec,
  type ExecutionMode,
  type FunctionPatch,
  type FunctionReplacement,
  type FunctionRetryPolicy,
  type RequestedExecutionMode,
} from '@drover/contracts';
import type { FunctionDefinition } from '@drover/dispatchers';
import { requestInvalid } from '../errors.js';
import { problemsOf } from './spec-problems.js';

/** Defaults for fields that a registration leaves out. */
export interface FunctionDefaults {
  readonly timeoutMs: number;
  readonly queueSize: number;
  readonly concurrency: number;
  readonly maxRetries: number;
}

/**
 * A specification as stored, with defaults applied at registration. Applying them on every read would let a change of
 * DEFAULT_TIMEOUT_MS alter running functions and make replicas with different settings disagree. The defaults of `retry` are
 * constants, and two of them differ between asynchronous and synchronous calls: `toDefinition` applies them.
 */
export type SettledSpec = Omit<FunctionSpec, 'env' | keyof FunctionDefaults> & FunctionDefaults;

/** Fields of a definition that come from the registry, not from the specification. */
export type Registration = Pick<
  FunctionDefinition,
  'tenantId' | 'generation' | 'revision' | 'env' | 'queueControl' | 'createdAt' | 'updatedAt'
>;

/**
 * The retry policy of asynchronous calls. Three retries take 15 to 31 seconds, longer than an endpoint takes to restart. A
 * synchronous call uses its own shorter delays (`retryDelayMs`).
 */
export const retryDefaults: Required<FunctionRetryPolicy> = {
  handlerErrors: false,
  delayMs: 1_000,
  backOffFactor: 5,
  maxDelayMs: 300_000,
  windowMs: 21_600_000,
};

/** The defaults that releases before `windowMs` stored with every function: ten milliseconds, without growth. */
const formerRetryDefaults = { delayMs: 10, backOffFactor: 1, maxDelayMs: 60_000 };

/** Checks the combination of fields, applies defaults, and throws one error that lists every problem. */
export function settleSpec({ env, ...spec }: FunctionSpec, defaults: FunctionDefaults): SettledSpec {
  refuseIfAny(problemsOf({ ...spec, ...(env && { env }) }, modeOf(spec).mode));
  return {
    ...spec,
    timeoutMs: spec.timeoutMs ?? defaults.timeoutMs,
    queueSize: spec.queueSize ?? defaults.queueSize,
    concurrency: spec.concurrency ?? defaults.concurrency,
    maxRetries: spec.maxRetries ?? defaults.maxRetries,
    ...(spec.retry && { retry: settleRetry(spec.retry) }),
  };
}

/** Stores the window always, which tells this form from the former one. */
function settleRetry(retry: FunctionRetryPolicy): FunctionRetryPolicy {
  return { windowMs: retryDefaults.windowMs, ...retry };
}

/** Applies the defaults of asynchronous calls. */
function toRetryPolicy(retry: FunctionRetryPolicy = {}): Required<FunctionRetryPolicy> {
  const { handlerErrors = retryDefaults.handlerErrors, delayMs, backOffFactor, maxDelayMs, windowMs } = retry;
  const isFormerDefault =
    windowMs === undefined &&
    delayMs === formerRetryDefaults.delayMs &&
    backOffFactor === formerRetryDefaults.backOffFactor &&
    maxDelayMs === formerRetryDefaults.maxDelayMs;
  return isFormerDefault ? { ...retryDefaults, handlerErrors } : { ...retryDefaults, ...retry };
}

/** Returns the specification after a patch. Each field replaces the old value as a whole, `retry` included. */
export function applyPatch(stored: SettledSpec, { env, ...patch }: FunctionPatch): SettledSpec {
  const { retry, ...others } = patch;
  const spec = { ...stored, ...others, ...(retry && { retry: settleRetry(retry) }) };
  refuseIfAny(problemsOf({ ...spec, ...(env && { env }) }, modeOf(spec).mode));
  return spec;
}

/** Returns the specification in a replacement, without what only responses have. */
export function specIn(name: string, replacement: FunctionReplacement): FunctionSpec {
  const known = Object.keys(FunctionSpec.properties);
  const fields = Object.entries(replacement).filter(([field]) => known.includes(field));
  return { ...(Object.fromEntries(fields) as Omit<FunctionSpec, 'name'>), name }; // validated against the schema that contains it
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
    retry: toRetryPolicy(retry),
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
