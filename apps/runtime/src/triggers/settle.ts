import type { Settlement } from '@drover/trigger-sources';
import type { InvocationOutcome } from '../invocations/invocation-call.js';

interface SettlementRules {
  /** How often a message was handed out, this time included. */
  readonly deliveryCount: number;
  /** Redelivery of a failed one is put off by this much, doubled each time; 0 leaves it to the source. */
  readonly backOffMs: number;
  readonly maxBackOffMs: number;
}

/**
 * What becomes of a trigger's message: done when its function succeeded, put aside when the function said that it will
 * never, and back to its source otherwise, whoever's fault it was. The source puts aside what came back too often.
 */
export function settle(outcome: InvocationOutcome, rules: SettlementRules): Settlement {
  switch (outcome.kind) {
    case 'succeeded':
      return { kind: 'complete' };
    case 'rejected':
      return { kind: 'deadLetter', reason: outcome.reason };
    case 'failed':
      if (!outcome.error.retryable) return { kind: 'deadLetter', reason: outcome.error.message };
      // What the platform could not run says nothing about the message: it comes back without a penalty.
      if (outcome.error.fault === 'platform' || rules.backOffMs === 0) return { kind: 'abandon' };
      return { kind: 'abandon', delayMs: backOff(rules) };
  }
}

function backOff({ deliveryCount, backOffMs, maxBackOffMs }: SettlementRules): number {
  return Math.min(maxBackOffMs, backOffMs * 2 ** Math.min(30, deliveryCount - 1));
}
