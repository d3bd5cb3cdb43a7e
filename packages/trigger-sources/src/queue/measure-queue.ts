import type { Backlog } from '../trigger-source.js';
import { failureOf, type StorageQueue } from './storage-queue.js';

/**
 * What waits in a queue. The service's count has everything in it, also what somebody works on and what is put off:
 * when nothing can be received, nothing waits. `ownInFlight` is what the asker itself works on.
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
