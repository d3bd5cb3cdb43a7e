import type { Settlement } from '../trigger-source.js';
import type { QueueOptions } from './queue-options.js';
import { longestHideMs, type QueueMessage } from './storage-queue.js';

type Limits = Pick<QueueOptions, 'maxDequeueCount' | 'poisonQueueName' | 'visibilityTimeoutMs'>;

/** The action that is applied to a message. */
export type MessageAction =
  | { readonly kind: 'remove' }
  | { readonly kind: 'hide'; readonly forMs: number }
  | { readonly kind: 'poison'; readonly poisonQueue: string; readonly reason: string }
  /** No request: it becomes visible when its lease expires. */
  | { readonly kind: 'leave' };

/** A message that expires while it is hidden is lost, so it becomes visible this long before its expiry. */
const beforeExpiryMs = 60_000;

/** Decides before the run. A message may have reached its delivery limit in processes that crashed. */
export function beforeRun(message: QueueMessage, limits: Limits): MessageAction | { readonly kind: 'run' } {
  const { maxDequeueCount, poisonQueueName } = limits;
  if (poisonQueueName === undefined || message.dequeueCount <= maxDequeueCount) return { kind: 'run' };
  const reason = `delivered ${maxDequeueCount} times and never settled`;
  return { kind: 'poison', poisonQueue: poisonQueueName, reason };
}

/** Decides after the run. */
export function afterRun(settlement: Settlement, message: QueueMessage, limits: Limits, now: number): MessageAction {
  const { maxDequeueCount, poisonQueueName, visibilityTimeoutMs } = limits;
  const kind = settlement.kind;
  switch (kind) {
    case 'complete':
      return { kind: 'remove' };
    case 'deadLetter':
      // Without a poison queue the message is redelivered rather than lost.
      if (poisonQueueName === undefined) return { kind: 'leave' };
      return { kind: 'poison', poisonQueue: poisonQueueName, reason: settlement.reason };
    case 'abandon': {
      // Without a delivery limit, a message that always fails must not be redelivered at once.
      if (poisonQueueName === undefined && settlement.delayMs === undefined) return { kind: 'leave' };
      if (poisonQueueName !== undefined && message.dequeueCount >= maxDequeueCount)
        return { kind: 'poison', poisonQueue: poisonQueueName, reason: `failed ${message.dequeueCount} times` };
      const untilExpiryMs = Math.max(0, message.expiresOn.getTime() - beforeExpiryMs - now);
      const wishedMs = Math.max(0, settlement.delayMs ?? visibilityTimeoutMs);
      // The service counts whole seconds: rounded up, so that it is never early.
      const wholeMs = Math.ceil(Math.min(wishedMs, longestHideMs, untilExpiryMs) / 1000) * 1000;
      return { kind: 'hide', forMs: wholeMs };
    }
    default:
      return kind satisfies never;
  }
}
