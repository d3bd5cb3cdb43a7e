import { hiddenValue, type FunctionResponse } from '@drover/contracts';
import type { FunctionDefinition } from '@drover/dispatchers';

/** Renders a function for callers: defaults applied, `env` with names only. */
export function toFunctionResponse(definition: FunctionDefinition, remoteBackend?: string): FunctionResponse {
  const { spec, env, mode, appFunction, discovered, createdAt, updatedAt } = definition;
  return {
    ...spec,
    name: definition.name,
    image: spec.image ?? '',
    env: Object.fromEntries(Object.keys(env).map((name) => [name, hiddenValue])),
    timeoutMs: definition.timeoutMs,
    concurrency: definition.concurrency,
    queueSize: definition.queueSize,
    maxRetries: definition.maxRetries,
    retry: definition.retry,
    ...(definition.handler !== undefined && { handler: definition.handler }),
    ...(appFunction && {
      appFunction: appFunction.application ? `${appFunction.application}/${appFunction.name}` : appFunction.name,
    }),
    executionMode: mode,
    requestedExecutionMode: definition.requestedMode,
    effectiveExecutionMode: mode,
    ...(mode === 'REMOTE' && remoteBackend !== undefined && { deploymentBackend: remoteBackend }),
    ...(definition.degradationReason !== undefined && { degradationReason: definition.degradationReason }),
    generation: definition.generation,
    revision: definition.revision,
    queueState: definition.queueControl?.state ?? 'open',
    ...(discovered && { application: discovered.application, trigger: discovered.trigger }),
    ...(createdAt && { createdAt: createdAt.toISOString() }),
    ...(updatedAt && { updatedAt: updatedAt.toISOString() }),
  };
}
