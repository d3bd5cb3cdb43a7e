import type { RetryContextInit, RpcException } from '@drover/function-rpc';
import type { RetryPolicy } from '../applications/function-definition.js';

/** Exponents above this give the longest wait anyway; without a bound the power would reach infinity. */
const maxExponent = 40;

/**
 * How long to wait before a failed invocation is tried again, after `retriesDone` retries; undefined when it is not. The
 * exponential waits are the shortest first, then that much more than the shortest which doubles each time, spread by a fifth
 * either way, up to the longest.
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

/** What a handler is told about its attempt: nothing for a function without a policy. */
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
