import { amqpConditions, type AmqpError, type DeliveryOutcome } from '../../amqp/amqp-service.js';
import type { MessageLock } from '../broker/message.js';
import type { MessageQueue } from '../broker/message-queue.js';
import type { PropertyChanges, SqlResult } from '../filters/sql-values.js';

/** Applies what a client decided about a locked message. Throws BrokerError when the lock is lost. */
export function applyOutcome(queue: MessageQueue, lock: MessageLock, outcome: DeliveryOutcome, nowMs: number): void {
  switch (outcome.kind) {
    case 'accepted':
      queue.complete(lock, nowMs);
      return;
    case 'released':
      queue.abandon(lock, nowMs);
      return;
    case 'rejected':
      queue.deadLetter(lock, nowMs, deadLetterReason(outcome.error));
      return;
    case 'modified':
      if (outcome.undeliverableHere === true) queue.defer(lock, nowMs, userChanges(outcome.annotations));
      else queue.abandon(lock, nowMs, userChanges(outcome.annotations));
  }
}

/** The state that tells the client its outcome was applied. It carries no error: any error fails the client's call. */
export function answerTo(outcome: DeliveryOutcome): DeliveryOutcome {
  return outcome.kind === 'modified' ? outcome : { kind: outcome.kind };
}

function deadLetterReason(error: AmqpError | undefined): {
  reason: string;
  description: string;
  changes: PropertyChanges;
} {
  const { DeadLetterReason, DeadLetterErrorDescription, ...others } = error?.info ?? {};
  const isExplicit = error?.condition === amqpConditions.deadLetter;
  return {
    reason: textOr(DeadLetterReason, isExplicit ? '' : (error?.condition ?? '')),
    description: textOr(DeadLetterErrorDescription, isExplicit ? '' : (error?.description ?? '')),
    changes: userChanges(others) ?? { system: new Map(), user: new Map() },
  };
}

function textOr(value: unknown, fallback: string): string {
  return typeof value === 'string' ? value : fallback;
}

/** Decoded AMQP values as application properties. A whole number becomes a long: its own width is lost by decoding. */
export function userChanges(properties: Readonly<Record<string, unknown>> | undefined): PropertyChanges | undefined {
  const entries = Object.entries(properties ?? {});
  if (entries.length === 0) return undefined;
  return { system: new Map(), user: new Map(entries.map(([name, value]) => [name, toSqlValue(value)])) };
}

export function toSqlValue(value: unknown): SqlResult {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value === 'string' || typeof value === 'boolean' || value === null || value instanceof Date) return value;
  if (Buffer.isBuffer(value)) return value.length === 8 ? value.readBigInt64BE() : value.toString('hex');
  return value === undefined ? null : JSON.stringify(value);
}
