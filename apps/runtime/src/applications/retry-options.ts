import { RpcRetryOptionsRetryStrategy, type Duration, type RpcRetryOptions } from '@drover/function-rpc';
import { parseTimeSpan, timeSpanRule } from '@drover/trigger-sources';
import type { RetryPolicy } from './function-definition.js';
import { isJsonObject } from './json-text.js';

/** A retry policy, or its problem. */
type RetryOptions = { readonly policy: RetryPolicy } | { readonly problem: string };

/** Reads `retry` of host.json or function.json. */
export function parseRetryOptions(raw: unknown): RetryOptions {
  if (!isJsonObject(raw)) return { problem: 'retry must be an object with a strategy' };
  const strategy = typeof raw['strategy'] === 'string' ? raw['strategy'].toLowerCase() : '';
  const maxRetries = toWhole(raw['maxRetryCount']);
  if (maxRetries === undefined) return { problem: 'retry.maxRetryCount must be a whole number, or -1 for no limit' };
  const spans: Record<string, number> = {};
  for (const name of strategy === 'fixeddelay' ? ['delayInterval'] : ['minimumInterval', 'maximumInterval']) {
    const span = typeof raw[name] === 'string' ? parseTimeSpan(raw[name]) : undefined;
    if (span === undefined && isStrategy(strategy)) return { problem: `retry.${name} must be ${timeSpanRule}` };
    spans[name] = span ?? 0;
  }
  const { delayInterval: delayMs = 0, minimumInterval: minimumMs = 0, maximumInterval: maximumMs = 0 } = spans;
  if (strategy === 'fixeddelay') return check({ strategy: 'fixedDelay', maxRetries, delayMs });
  if (strategy === 'exponentialbackoff')
    return check({ strategy: 'exponentialBackoff', maxRetries, minimumMs, maximumMs });
  return { problem: 'retry.strategy must be "fixedDelay" or "exponentialBackoff"' };
}

/**
 * Reads the retry options of indexed functions. The exponential strategy is the zero of its enum and therefore absent on the
 * wire. The libraries round durations to whole seconds, so a zero was written as less than half a second.
 */
export function fromRpcRetryOptions(options: RpcRetryOptions): RetryOptions {
  const { maxRetryCount: maxRetries, delayInterval, minimumInterval, maximumInterval } = options;
  switch (options.retryStrategy) {
    case RpcRetryOptionsRetryStrategy.fixed_delay:
      if (!delayInterval) return { problem: 'its fixed delay retry policy lacks delayInterval' };
      return check({ strategy: 'fixedDelay', maxRetries, delayMs: toMs(delayInterval) });
    case RpcRetryOptionsRetryStrategy.exponential_backoff:
      if (!minimumInterval || !maximumInterval)
        return { problem: 'its exponential retry policy lacks minimumInterval or maximumInterval' };
      return check({
        strategy: 'exponentialBackoff',
        maxRetries,
        minimumMs: toMs(minimumInterval),
        maximumMs: toMs(maximumInterval),
      });
    default:
      return { problem: `its retry strategy ${options.retryStrategy} is unknown` };
  }
}

function check(policy: RetryPolicy): RetryOptions {
  if (policy.maxRetries < -1) return { problem: 'retry.maxRetryCount must be a whole number, or -1 for no limit' };
  if (policy.strategy === 'fixedDelay')
    return policy.delayMs < 0 ? { problem: 'retry.delayInterval must not be negative' } : { policy };
  const { minimumMs, maximumMs } = policy;
  return minimumMs < 0 || maximumMs < minimumMs
    ? { problem: 'retry.minimumInterval must not be negative, nor longer than retry.maximumInterval' }
    : { policy };
}

function isStrategy(name: string): boolean {
  return name === 'fixeddelay' || name === 'exponentialbackoff';
}

function toWhole(raw: unknown): number | undefined {
  const value = typeof raw === 'string' && /^-?\d{1,9}$/.test(raw) ? Number(raw) : raw;
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined;
}

function toMs({ seconds, nanos }: Duration): number {
  return Number(seconds) * 1_000 + nanos / 1_000_000;
}
