import type { Settlement } from '../trigger-source.js';
import type { QueueOptions } from './queue-options.js';
import { longestHideMs, type QueueMessage } from './storage-queue.js';

type Limits = Pick<QueueOptions, 'maxDequeueCount' | 'poisonQueueName' | 'visibilityTimeoutMs'>;

/** What is done to the message itself. */
export type MessageAction =
  | { readonly kind: 'remove' }
  | { readonly kind: 'hide'; readonly forMs: number }
  | { readonly kind: 'poison'; readonly poisonQueue: string; readonly reason: string }
  /** Nothing: it comes back when its lease runs out. */
  | { readonly kind: 'leave' };

/** A message that expires while it is hidden is lost: it comes back this long before. */
const beforeExpiryMs = 60_000;

/** Before it runs: it may have failed too often already, in processes that did not live to say so. */
export function beforeRun(message: QueueMessage, limits: Limits): MessageAction | { readonly kind: 'run' } {
  const { maxDequeueCount, poisonQueueName } = limits;
  if (poisonQueueName === undefined || message.dequeueCount <= maxDequeueCount) return { kind: 'run' };
  const reason = `handed out ${maxDequeueCount} times, and never settled`;
  return { kind: 'poison', poisonQueue: poisonQueueName, reason };
}

/** After it ran. */
export function afterRun(settlement: Settlement, message: QueueMessage, limits: Limits, now: number): MessageAction {
  const { maxDequeueCount, poisonQueueName, visibilityTimeoutMs } = limits;
  const kind = settlement.kind;
  switch (kind) {
    case 'complete':
      return { kind: 'remove' };
    case 'deadLetter':
      // Nowhere to put it: better that it comes back than that it is gone.
      if (poisonQueueName === undefined) return { kind: 'leave' };
      return { kind: 'poison', poisonQueue: poisonQueueName, reason: settlement.reason };
    case 'abandon': {
      // Where nothing ends the round, a message that always fails must not go round quickly.
      if (poisonQueueName === undefined && settlement.delayMs === undefined) return { kind: 'leave' };
      if (poisonQueueName !== undefined && message.dequeueCount >= maxDequeueCount)
        return { kind: 'poison', poisonQueue: poisonQueueName, reason: `failed ${message.dequeueCount} times` };
      const untilExpiryMs = Math.max(0, message.expiresOn.getTime() - beforeExpiryMs - now);
      const wishedMs = Math.max(0, settlement.delayMs ?? visibilityTimeoutMs);
      // The service counts in whole seconds; never earlier than asked for.
      const wholeMs = Math.ceil(Math.min(wishedMs, longestHideMs, untilExpiryMs) / 1000) * 1000;
      return { kind: 'hide', forMs: wholeMs };
    }
    default:
      return kind satisfies never;
  }
}
