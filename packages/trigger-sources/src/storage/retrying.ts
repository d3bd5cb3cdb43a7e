import { setMaxListeners } from 'node:events';
import { BackOff, sleep, type Clock, type Randomness } from '@drover/service-kit';
import { requestTimeoutMs, withDeadline } from '../requests.js';

const retries = { firstMs: 100, maxMs: 5_000, factor: 2 };
const maxAttempts = 5;

interface RetryOptions {
  readonly clock: Clock;
  readonly randomness: Randomness;
  /** Ends the call without another attempt. */
  readonly signal: AbortSignal;
  readonly mayRetry: (error: unknown) => boolean;
  /** Time limit of one attempt. */
  readonly timeoutMs?: number;
}

/** Sends a request up to five times while its failure may pass. Rejects with the last error. */
export async function retrying<T>(call: (signal: AbortSignal) => Promise<T>, options: RetryOptions): Promise<T> {
  const { clock, signal, mayRetry, timeoutMs = requestTimeoutMs } = options;
  setMaxListeners(0, signal); // outputs of all invocations share one
  const backOff = new BackOff(retries, options);
  for (;;) {
    try {
      return await withDeadline(clock, timeoutMs, signal, call);
    } catch (error) {
      signal.throwIfAborted();
      if (!mayRetry(error) || backOff.failures + 1 >= maxAttempts) throw error;
      await sleep(clock, backOff.nextMs(), signal);
    }
  }
}
