import type { Settlement } from '@drover/trigger-sources';
import type { InvocationOutcome } from '../invocations/invocation-call.js';

interface SettlementRules {
  /** Number of deliveries of the message, this one included. */
  readonly deliveryCount: number;
  /** Delay before the first redelivery, doubled each time; 0 leaves the delay to the source. */
  readonly backOffMs: number;
  readonly maxBackOffMs: number;
}

/**
 * Decides the settlement of a trigger message: complete after success, dead letter after a rejection or a permanent failure,
 * abandon otherwise. The source dead-letters messages that are abandoned too often.
 */
export function settle(outcome: InvocationOutcome, rules: SettlementRules): Settlement {
  switch (outcome.kind) {
    case 'succeeded':
      return { kind: 'complete' };
    case 'rejected':
      return { kind: 'deadLetter', reason: outcome.reason };
    case 'failed':
      if (!outcome.error.retryable) return { kind: 'deadLetter', reason: outcome.error.message };
      // A failure of the platform says nothing about the message: it returns without a delay.
      if (outcome.error.fault === 'platform' || rules.backOffMs === 0) return { kind: 'abandon' };
      return { kind: 'abandon', delayMs: backOff(rules) };
  }
}

function backOff({ deliveryCount, backOffMs, maxBackOffMs }: SettlementRules): number {
  return Math.min(maxBackOffMs, backOffMs * 2 ** Math.min(30, deliveryCount - 1));
}
