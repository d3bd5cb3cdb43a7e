import { backOffMs, type Randomness } from '@drover/service-kit';
import type { AttemptResult, FunctionDefinition } from '@drover/dispatchers';

/** An attempt without a result. */
export type AttemptFailure = Extract<AttemptResult, { readonly kind: 'failed' | 'timeout' }>;

/** What the failed attempts of an execution were. */
export interface FailedTries {
  /** Failures that count towards `maxRetries`, this one included. */
  readonly failed: number;
  /** Failures that do not count, this one included. */
  readonly uncounted: number;
  readonly kind: 'sync' | 'async';
}

/**
 * Whether a failure counts towards `maxRetries`. An attempt that was not tried at all never does. One that the function did not take
 * counts only for a synchronous call: its caller waits for an answer, while asynchronous work can wait for the function. So with
 * `maxRetries: 0` a synchronous call makes one attempt, and asynchronous work reaches the function once.
 */
export function isCounted(failure: AttemptFailure, kind: FailedTries['kind']): boolean {
  if (failure.kind === 'timeout') return true;
  return !failure.wasNotTried && !(failure.wasTurnedAway && kind === 'async');
}

/**
 * Returns the delay before the next attempt, or undefined when there is none. `maxRetries` counts attempts after the first. Failures
 * that do not count are retried until the retry window or the lifetime of the execution is over. A timeout is transient: a late answer
 * of the attempt is ignored, so it cannot be taken for the answer of the next one.
 */
export function retryDelayMs(
  { maxRetries, retry, spec }: Pick<FunctionDefinition, 'maxRetries' | 'retry' | 'spec'>,
  { failed, uncounted, kind }: FailedTries,
  failure: AttemptFailure,
  randomness: Pick<Randomness, 'fraction'>,
): number | undefined {
  if (isCounted(failure, kind) && failed > maxRetries) return undefined;
  if (kind === 'sync' && isOutage(failure)) return undefined;
  const isTransient = failure.kind === 'timeout' || failure.transient;
  if (!isTransient && !retry.handlerErrors) return undefined;
  const { delayMs, backOffFactor } = kind === 'async' ? retry : { ...syncDefaults, ...spec.retry };
  const policy = { firstMs: delayMs, maxMs: retry.maxDelayMs, factor: backOffFactor };
  const ownMs = backOffMs(policy, Math.max(1, failed + uncounted), randomness);
  const askedMs = failure.kind === 'failed' ? (failure.retryAfterMs ?? 0) : 0;
  return Math.max(ownMs, Math.min(askedMs, maxAskedMs));
}

/** Whether the function takes no calls for longer than a caller would wait before it sends its call again itself. */
function isOutage(failure: AttemptFailure): boolean {
  if (failure.kind === 'timeout' || !failure.wasTurnedAway) return false;
  return failure.queuePauseMs !== undefined || (failure.retryAfterMs ?? 0) > maxSyncWaitMs;
}

const maxSyncWaitMs = 1_000;

/** A caller waits: better a quick answer than a patient retry. */
const syncDefaults = { delayMs: 10, backOffFactor: 1 };

/** Limit of the delay that an endpoint may ask for, so that it cannot park executions for ever. */
const maxAskedMs = 60_000;
