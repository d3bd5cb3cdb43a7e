import type { FunctionResponse } from '@drover/contracts';
import type { FunctionDefinition } from '@drover/dispatchers';

/** A function as callers see it: every default filled in, and of `env` the names alone. */
export function toFunctionResponse(definition: FunctionDefinition, remoteBackend?: string): FunctionResponse {
  const { spec, env, mode, appFunction, found, createdAt, updatedAt } = definition;
  return {
    ...spec,
    name: definition.name,
    image: spec.image ?? '',
    env: Object.fromEntries(Object.keys(env).map((name) => [name, '[secret]'])),
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
    ...(found && { application: found.application, trigger: found.trigger }),
    ...(createdAt && { createdAt: createdAt.toISOString() }),
    ...(updatedAt && { updatedAt: updatedAt.toISOString() }),
  };
}
