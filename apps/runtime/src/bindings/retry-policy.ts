import type { RetryContextInit, RpcException } from '@drover/function-rpc';
import type { RetryPolicy } from '../applications/function-definition.js';

/** Bounds the exponent; larger ones give the maximum delay anyway. */
const maxExponent = 40;

/**
 * Returns the delay before the next retry after `retriesDone` retries, or undefined if there is none. As in the official host,
 * the exponential delay is the minimum first, then minimum + minimum * 2^n, spread by ±20 % and capped at the maximum.
 */
export function nextRetryDelayMs(
  policy: RetryPolicy,
  retriesDone: number,
  randomness: { readonly fraction: () => number },
): number | undefined {
  if (policy.maxRetries !== -1 && retriesDone >= policy.maxRetries) return undefined;
  if (policy.strategy === 'fixedDelay') return policy.delayMs;
  const { minimumMs, maximumMs } = policy;
  if (retriesDone === 0) return Math.min(minimumMs, maximumMs);
  const spread = 0.8 + 0.4 * randomness.fraction();
  return Math.min(maximumMs, minimumMs + minimumMs * 2 ** Math.min(retriesDone, maxExponent) * spread);
}

/** Returns the retry context of an attempt; undefined without a policy. */
export function retryContext(
  policy: RetryPolicy | undefined,
  retriesDone: number,
  lastFailure: RpcException | undefined,
): RetryContextInit | undefined {
  if (!policy) return undefined;
  const { message = '', stackTrace = '', source = '' } = lastFailure ?? {};
  return {
    retryCount: retriesDone,
    maxRetryCount: policy.maxRetries,
    ...(lastFailure && { exception: { message, stackTrace, source } }),
  };
}
