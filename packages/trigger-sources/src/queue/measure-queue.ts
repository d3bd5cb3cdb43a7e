import type { Backlog } from '../trigger-source.js';
import { failureOf, type StorageQueue } from './storage-queue.js';

/**
 * Measures the backlog of a queue. The count of the service includes leased and hidden messages, so a queue without a visible
 * message has no backlog. `ownInFlight` is the number of messages that the caller has leased.
 */
export async function measureQueue(
  queue: StorageQueue,
  { now, ownInFlight }: { readonly now: number; readonly ownInFlight: number },
  signal: AbortSignal,
): Promise<Backlog> {
  try {
    const head = await queue.peek(signal);
    if (!head) return { waiting: 0, oldestAgeMs: undefined };
    const waiting = Math.max(1, (await queue.count(signal)) - ownInFlight);
    return { waiting, oldestAgeMs: Math.max(0, now - head.insertedOn.getTime()) };
  } catch (error) {
    if (failureOf(error) === 'queue-missing') return { waiting: 0, oldestAgeMs: undefined };
    throw error;
  }
}
