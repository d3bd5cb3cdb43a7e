import { backOffMs, type Randomness } from '@drover/service-kit';
import type { AttemptResult, FunctionDefinition } from '@drover/dispatchers';

/** An attempt that brought no result. */
export type AttemptFailure = Extract<AttemptResult, { readonly kind: 'failed' | 'timeout' }>;

/**
 * How long to wait before the next attempt, or nothing when there is none. `maxRetries` counts attempts after the first.
 * What was not tried at all is not counted: it is tried until the execution's own time is over. Running out of time counts as transient: the attempt is fenced, so its late answer cannot stand in for that of the next.
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
  return Math.max(ownMs, Math.min(askedMs, longestAskedMs));
}

/** What an endpoint may ask for: it must not park executions for ever. */
const longestAskedMs = 60_000;
