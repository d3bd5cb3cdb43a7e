import { failureOf, type MessageLifetime, type StorageQueue } from './storage-queue.js';

/** Sends a message and creates the queue if it is missing. Resolves with true if it was created. */
export async function sendCreating(
  queue: StorageQueue,
  message: { readonly text: string; readonly keep: MessageLifetime },
  signal: AbortSignal,
): Promise<boolean> {
  const { text, keep } = message;
  try {
    await queue.send(text, { keep }, signal);
    return false;
  } catch (error) {
    if (failureOf(error) !== 'queue-missing') throw error;
  }
  await queue.create(signal);
  await queue.send(text, { keep }, signal);
  return true;
}
