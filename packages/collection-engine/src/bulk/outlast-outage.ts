import { hasCode } from '@drover/contracts';
import { BackOff, type Clock, type Randomness } from '@drover/service-kit';

/** A restart of PostgreSQL takes seconds, with the recovery after a crash. */
const maxOutageMs = 60_000;
const outageBackOff = { firstMs: 50, maxMs: 1_000, factor: 2 };

interface OutageIo {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly signal: AbortSignal;
}

/**
 * Runs `work` again while PostgreSQL is unavailable. An attempt may have been committed although it failed: `work` must be one that may
 * run twice. Rejects with DATABASE_UNAVAILABLE after a minute of it, and when the signal aborts.
 */
export async function outlastOutage<T>(work: (attempt: number) => Promise<T>, io: OutageIo): Promise<T> {
  const backOff = new BackOff(outageBackOff, io);
  let endMs: number | undefined;
  for (;;) {
    try {
      return await work(backOff.failures + 1);
    } catch (error) {
      const nowMs = io.clock.monotonicMs();
      endMs ??= nowMs + maxOutageMs;
      if (!hasCode(error, 'DATABASE_UNAVAILABLE') || nowMs >= endMs) throw error;
      await backOff.wait(io.signal);
    }
  }
}
