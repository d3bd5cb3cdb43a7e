import { backOffMs, type Randomness } from '@drover/service-kit';
import type { AttemptResult, FunctionDefinition } from '@drover/dispatchers';

/** An attempt without a result. */
export type AttemptFailure = Extract<AttemptResult, { readonly kind: 'failed' | 'timeout' }>;

/**
 * Returns the delay before the next attempt, or undefined when there is none. `maxRetries` counts attempts after the first. An attempt
 * that was not tried at all does not count: it is repeated until the lifetime of the execution is over. A timeout is transient: a late
 * answer of the attempt is ignored, so it cannot be taken for the answer of the next one.
 */
export function retryDelayMs(
  { maxRetries, retry }: Pick<FunctionDefinition, 'maxRetries' | 'retry'>,
  failedAttempts: number,
  failure: AttemptFailure,
  randomness: Pick<Randomness, 'fraction'>,
): number | undefined {
  const wasTried = failure.kind === 'timeout' || !failure.wasNotTried;
  if (wasTried && failedAttempts > maxRetries) return undefined;
  const isTransient = failure.kind === 'timeout' || failure.transient;
  if (!isTransient && !retry.handlerErrors) return undefined;
  const policy = { firstMs: retry.delayMs, maxMs: retry.maxDelayMs, factor: retry.backOffFactor };
  const ownMs = backOffMs(policy, Math.max(1, failedAttempts), randomness);
  const askedMs = failure.kind === 'failed' ? (failure.retryAfterMs ?? 0) : 0;
  return Math.max(ownMs, Math.min(askedMs, maxAskedMs));
}

/** Limit of the delay that an endpoint may ask for, so that it cannot park executions for ever. */
const maxAskedMs = 60_000;
