import { defaultTenantId, type AcceptedCall, type TenantId } from '@drover/contracts';
import type { FunctionDefinition } from '../function-definition.js';
import type { Attempt } from '../dispatcher.js';

type Abandonment = Parameters<Parameters<Attempt['onAbandoned']>[0]>[0];

export function poolFunction(
  endpointUrl: string | undefined,
  tenantId: TenantId = defaultTenantId,
): FunctionDefinition {
  return {
    tenantId,
    name: 'hello',
    generation: 1,
    revision: 1,
    mode: 'POOL',
    requestedMode: 'POOL',
    timeoutMs: 30_000,
    concurrency: 4,
    queueSize: 100,
    maxRetries: 3,
    retry: { handlerErrors: false, delayMs: 10, backOffFactor: 1, maxDelayMs: 60_000 },
    ...(endpointUrl === undefined ? {} : { endpointUrl }),
    env: {},
    spec: { name: 'hello' },
  };
}

/** An attempt, with the other end of its `onAbandoned`. */
export function attemptOf(
  definition: FunctionDefinition,
  over: Partial<AcceptedCall> & { readonly number?: number } = {},
): Attempt & { abandon(reason: Abandonment): void } {
  const { number = 1, ...accepted } = over;
  let listener: (reason: Abandonment) => void = () => undefined;
  return {
    accepted: {
      executionId: '01900000-0000-7000-8000-000000000001',
      tenantId: definition.tenantId,
      functionName: definition.name,
      generation: definition.generation,
      payload: { json: '{"a":1}' },
      kind: 'sync',
      acceptedAt: 0,
      ...accepted,
    },
    definition,
    number,
    timeoutMs: definition.timeoutMs,
    callbackBaseUrl: () => 'http://platform.test/v1/internal/executions',
    onAbandoned(told) {
      listener = told;
    },
    abandon(reason) {
      listener(reason);
    },
  };
}
