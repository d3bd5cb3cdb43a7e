import { hasCode } from '@drover/contracts';
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
      return { kind: 'deadLetter', reason: outcome.reason, byFunction: true };
    case 'failed': {
      const { error } = outcome;
      const byFunction = failuresOfFunctions.some((code) => hasCode(error, code));
      if (!error.retryable) return { kind: 'deadLetter', reason: error.message, byFunction };
      // A failure of the platform says nothing about the message: it returns without a delay.
      const cause = { byFunction, reason: error.message };
      if (error.fault === 'platform' || rules.backOffMs === 0) return { kind: 'abandon', ...cause };
      return { kind: 'abandon', delayMs: backOff(rules), ...cause };
    }
  }
}

/** The function ran, and the message is the cause. All other failures have another cause, such as a function that did not load. */
const failuresOfFunctions = [
  'RUNTIME_INVOCATION_FAILED',
  'RUNTIME_INVOCATION_TIMED_OUT',
  'RUNTIME_MESSAGE_POISON',
] as const;

function backOff({ deliveryCount, backOffMs, maxBackOffMs }: SettlementRules): number {
  return Math.min(maxBackOffMs, backOffMs * 2 ** Math.min(30, deliveryCount - 1));
}
