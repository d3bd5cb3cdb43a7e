import { hasCode, isCodedError } from '@drover/contracts';
import { BackOff } from '@drover/service-kit';
import type { DatabaseIo } from './database-io.js';
import { codeOf } from './translate-error.js';

interface AwaitServerOptions extends DatabaseIo {
  readonly server: string;
  /** How long a server may be unreachable. A server that answers that it starts or recovers has no limit. */
  readonly waitMs: number;
  /** Aborting gives up the wait. */
  readonly signal: AbortSignal | undefined;
}

const connectBackOff = { firstMs: 50, maxMs: 1_000, factor: 2 };
/** The wait is observed when it begins, when its reason changes, and this often. */
const observeEveryMs = 10_000;

/**
 * Repeats the first connection while the server is away or recovers; rejects with the last error, or the reason of the abort, when
 * it gives up.
 */
export async function awaitServer<T>(connect: () => Promise<T>, options: AwaitServerOptions): Promise<T> {
  const { clock, observe, server, waitMs, signal } = options;
  const backOff = new BackOff(connectBackOff, options);
  const lastMs = clock.monotonicMs() + waitMs;
  let observed = { reason: '', atMs: 0 };
  for (;;) {
    try {
      return await connect();
    } catch (error) {
      const nowMs = clock.monotonicMs();
      signal?.throwIfAborted();
      if (!isAway(error) || (!isStartingUp(error) && nowMs >= lastMs)) throw error;
      const reason = reasonOf(error);
      if (reason !== observed.reason || nowMs - observed.atMs >= observeEveryMs) {
        observed = { reason, atMs: nowMs };
        observe({ kind: 'database.awaited', server, reason });
      }
      await backOff.wait(signal);
    }
  }
}

function isAway(error: unknown): error is Error {
  return hasCode(error, 'DATABASE_UNAVAILABLE');
}

/** SQLSTATE cannot_connect_now: the server starts, recovers after a crash, or shuts down. */
function isStartingUp(error: Error): boolean {
  return codeOf(error.cause) === '57P03';
}

function reasonOf(error: Error): string {
  return isCodedError(error) ? String(error.details['reason']) : error.message;
}
