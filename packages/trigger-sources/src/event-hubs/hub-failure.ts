import { AmqpConditionError } from '../amqp/amqp-condition-error.js';

/**
 * - denied: the key or signature is wrong
 * - missing: the hub, the consumer group or the partition does not exist
 * - stolen: another reader with at least the same owner level has the partition
 * - throttled: the service is busy
 * - refused: the service rejects the request
 * - unavailable: the service does not respond, or not with AMQP
 */
export type HubFailure = 'denied' | 'missing' | 'stolen' | 'throttled' | 'refused' | 'unavailable';

const conditions: Readonly<Record<string, HubFailure>> = {
  'amqp:unauthorized-access': 'denied',
  'com.microsoft:auth-failed': 'denied',
  'amqp:not-found': 'missing',
  'com.microsoft:argument-out-of-range': 'missing',
  'com.microsoft:entity-disabled': 'refused',
  'amqp:link:stolen': 'stolen',
  'com.microsoft:server-busy': 'throttled',
  'amqp:resource-limit-exceeded': 'throttled',
  'com.microsoft:argument-error': 'refused',
  'amqp:not-allowed': 'refused',
  'amqp:link:message-size-exceeded': 'refused',
};
const statuses: Readonly<Record<string, HubFailure>> = {
  401: 'denied',
  403: 'denied',
  404: 'missing',
  503: 'throttled',
};
/** Codes of the SDK. */
const codes: Readonly<Record<string, HubFailure>> = {
  UnauthorizedError: 'denied',
  MessagingEntityNotFoundError: 'missing',
  ServerBusyError: 'throttled',
  MessageTooLargeError: 'refused',
  ArgumentError: 'refused',
};

/** Classifies an error of the AMQP client or of the SDK. */
export function hubFailureOf(error: unknown): HubFailure {
  if (error instanceof AmqpConditionError)
    return conditions[error.condition] ?? statuses[error.condition] ?? 'unavailable';
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
  return codes[code] ?? 'unavailable';
}

/** The text of an error for messages. */
export function hubReason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
