import { defaultTenantId, type AcceptedCall, type TenantId } from '@drover/contracts';
import type { Attempt } from '../dispatcher.js';
import type { FunctionDefinition } from '../function-definition.js';

/** A definition with every field that a dispatcher reads; LOCAL unless `changes` say otherwise. */
export function definitionOf(changes: Partial<FunctionDefinition> = {}): FunctionDefinition {
  return {
    tenantId: defaultTenantId,
    name: 'hello',
    generation: 1,
    revision: 1,
    mode: 'LOCAL',
    requestedMode: changes.mode ?? 'LOCAL',
    timeoutMs: 30_000,
    concurrency: 4,
    queueSize: 100,
    maxRetries: 3,
    retry: { handlerErrors: false, delayMs: 10, backOffFactor: 1, maxDelayMs: 60_000, windowMs: 600_000 },
    env: {},
    spec: { name: 'hello' },
    ...changes,
  };
}

/** An attempt that a test can abandon. */
export interface TestAttempt extends Attempt {
  abandon(reason?: AbandonReason): void;
}

type AbandonReason = Parameters<Parameters<Attempt['onAbandoned']>[0]>[0];

export interface AttemptChanges extends Partial<AcceptedCall> {
  /** Becomes the payload. */
  readonly input?: unknown;
  readonly number?: number;
  readonly timeoutMs?: number;
}

export function attemptOf(definition: FunctionDefinition, changes: AttemptChanges = {}): TestAttempt {
  const { input = null, number = 1, timeoutMs = definition.timeoutMs, ...accepted } = changes;
  let listener: ((reason: AbandonReason) => void) | undefined;
  return {
    definition,
    number,
    timeoutMs,
    accepted: {
      executionId: '01900000-0000-7000-8000-000000000001',
      tenantId: definition.tenantId,
      functionName: definition.name,
      generation: definition.generation,
      payload: { json: JSON.stringify(input) },
      kind: 'sync',
      acceptedAt: 0,
      ...accepted,
    },
    callbackBaseUrl: () => 'http://platform.test/v1/internal/executions',
    onAbandoned: (given) => (listener = given),
    abandon(reason = 'timeout') {
      const once = listener;
      listener = undefined;
      once?.(reason);
    },
  };
}

/** A function of the mode POOL. */
export function endpointFunction(
  endpointUrl: string | undefined,
  tenantId: TenantId = defaultTenantId,
): FunctionDefinition {
  return definitionOf({ mode: 'POOL', tenantId, ...(endpointUrl !== undefined && { endpointUrl }) });
}
