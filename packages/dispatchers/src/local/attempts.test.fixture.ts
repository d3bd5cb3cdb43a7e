import type { AcceptedCall, TenantId } from '@drover/contracts';
import type { FunctionDefinition } from '../function-definition.js';
import type { Attempt } from '../dispatcher.js';

export function definitionOf(changes: Partial<FunctionDefinition> = {}): FunctionDefinition {
  return {
    tenantId: 'tenant' as TenantId,
    name: 'fn',
    generation: 1,
    revision: 1,
    mode: 'LOCAL',
    requestedMode: 'LOCAL',
    timeoutMs: 30_000,
    concurrency: 4,
    queueSize: 100,
    maxRetries: 3,
    retry: { handlerErrors: false, delayMs: 10, backOffFactor: 1, maxDelayMs: 60_000 },
    env: {},
    spec: { name: 'fn' },
    ...changes,
  };
}

export interface TestAttempt extends Attempt {
  abandon(reason?: 'timeout' | 'cancelled' | 'completed' | 'stopping'): void;
}

export function attemptOf(
  definition: FunctionDefinition,
  input: unknown = null,
  changes: Partial<AcceptedCall> & { readonly number?: number; readonly timeoutMs?: number } = {},
): TestAttempt {
  const { number = 1, timeoutMs = definition.timeoutMs, ...accepted } = changes;
  let abandoned: Parameters<Attempt['onAbandoned']>[0] = () => undefined;
  return {
    definition,
    number,
    timeoutMs,
    accepted: {
      executionId: '0190a6a5-7a7b-7c7d-8e8f-0123456789ab',
      tenantId: definition.tenantId,
      functionName: definition.name,
      generation: definition.generation,
      payload: { json: JSON.stringify(input) },
      kind: 'sync',
      acceptedAt: 0,
      ...accepted,
    },
    callbackBaseUrl: () => 'http://127.0.0.1:1/v1/internal/executions',
    onAbandoned: (listener) => (abandoned = listener),
    abandon: (reason = 'timeout') => abandoned(reason),
  };
}
