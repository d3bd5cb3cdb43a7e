import type { Settlement } from '../trigger-source.js';

/** What is done with a message after its run. */
export type BusAction =
  | { readonly kind: 'complete' }
  /** Delivered again, at once or after a delay in which it stays locked. */
  | { readonly kind: 'abandon'; readonly afterMs: number }
  | { readonly kind: 'deadLetter'; readonly reason: string }
  /** No request: the function has not settled it, so it is delivered again when its lock expires. */
  | { readonly kind: 'leave' };

interface Circumstances {
  readonly autoComplete: boolean;
  /** Dead letters have no dead-letter queue and no delivery limit. */
  readonly isDeadLetterQueue: boolean;
  readonly deliveryCount: number;
  /** Messages of the delivery. */
  readonly messages: number;
}

/** A dead letter that fails again returns after this time, doubled each time: nothing else would slow it down. */
const deadLetterBackOff = { firstMs: 1_000, maxMs: 60_000 };
/** The longest delay: the message stays locked for as long. */
const longestDelayMs = 3_600_000;

/** Decides what is done with a message that the function has not settled itself. */
export function afterBusRun(settlement: Settlement, circumstances: Circumstances): BusAction {
  const { autoComplete, isDeadLetterQueue, deliveryCount, messages } = circumstances;
  const { kind } = settlement;
  switch (kind) {
    case 'complete':
      return autoComplete ? { kind: 'complete' } : { kind: 'leave' };
    case 'deadLetter':
      if (isDeadLetterQueue) return { kind: 'abandon', afterMs: slowDownMs(deliveryCount) };
      // One of them may be the cause. They return in smaller batches, until it is alone.
      if (messages > 1) return { kind: 'abandon', afterMs: 0 };
      return { kind: 'deadLetter', reason: settlement.reason };
    case 'abandon': {
      const wishedMs = settlement.delayMs ?? (isDeadLetterQueue ? slowDownMs(deliveryCount) : 0);
      return { kind: 'abandon', afterMs: Math.min(longestDelayMs, Math.max(0, wishedMs)) };
    }
    default:
      return kind satisfies never;
  }
}

function slowDownMs(deliveryCount: number): number {
  const { firstMs, maxMs } = deadLetterBackOff;
  return Math.min(maxMs, firstMs * 2 ** Math.min(30, deliveryCount - 1));
}
