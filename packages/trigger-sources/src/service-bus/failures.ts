import { AmqpConditionError } from '../amqp/amqp-condition-error.js';

/**
 * - entity-missing: the queue, topic or subscription does not exist
 * - denied: the key is wrong or lacks a permission
 * - lock-lost: another consumer may have the message or session
 * - no-session: no session has a message, or another consumer has the session
 * - throttled: the namespace limits requests, or the entity is full
 * - refused: the request is invalid; a retry cannot succeed
 * - unavailable: no response, or an error of the service
 */
export type BusFailure =
  | 'entity-missing'
  | 'denied'
  | 'lock-lost'
  | 'no-session'
  | 'throttled'
  | 'refused'
  | 'unavailable';

const failuresByCode: Readonly<Record<string, BusFailure>> = {
  MessagingEntityNotFound: 'entity-missing',
  MessagingEntityDisabled: 'entity-missing',
  UnauthorizedAccess: 'denied',
  MessageLockLost: 'lock-lost',
  SessionLockLost: 'lock-lost',
  MessageNotFound: 'lock-lost',
  SessionCannotBeLocked: 'no-session',
  ServiceBusy: 'throttled',
  QuotaExceeded: 'throttled',
  MessageSizeExceeded: 'refused',
};

/** Conditions of AMQP, and statuses of responses, on links of our own. */
const failuresByCondition: Readonly<Record<string, BusFailure>> = {
  'amqp:not-found': 'entity-missing',
  'com.microsoft:entity-disabled': 'entity-missing',
  404: 'entity-missing',
  'amqp:unauthorized-access': 'denied',
  'com.microsoft:auth-failed': 'denied',
  401: 'denied',
  403: 'denied',
  'com.microsoft:message-lock-lost': 'lock-lost',
  'com.microsoft:session-lock-lost': 'lock-lost',
  'com.microsoft:message-not-found': 'lock-lost',
  'com.microsoft:server-busy': 'throttled',
  'amqp:resource-limit-exceeded': 'throttled',
  503: 'throttled',
  'amqp:not-allowed': 'refused',
  'com.microsoft:argument-error': 'refused',
  'com.microsoft:argument-out-of-range': 'refused',
};

/** Parts of messages of the SDK for conditions that it gives no code. */
const failuresByText: readonly (readonly [RegExp, BusFailure])[] = [
  [/InvalidOperationError|ArgumentError|ArgumentOutOfRangeError|amqp:not-allowed/i, 'refused'],
  [/UnauthorizedError|amqp:unauthorized-access|InvalidSignature|ExpiredToken|PutToken.*40[13]/i, 'denied'],
];

/** Classifies the error of a call of the SDK, or of a link of our own. */
export function failureOfBus(error: unknown): BusFailure {
  if (error instanceof AmqpConditionError) return failuresByCondition[error.condition] ?? 'unavailable';
  const { code, message } = (typeof error === 'object' && error !== null ? error : {}) as Readonly<
    Record<'code' | 'message', unknown>
  >; // absent ones read as undefined
  const known = typeof code === 'string' ? failuresByCode[code] : undefined;
  if (known) return known;
  const text = typeof message === 'string' ? message : '';
  return failuresByText.find(([pattern]) => pattern.test(text))?.[1] ?? 'unavailable';
}

/** Whether the SDK gave up waiting for a session: none has a message. */
export function isSessionTimeout(error: unknown): boolean {
  const { code } = (typeof error === 'object' && error !== null ? error : {}) as { readonly code?: unknown };
  return code === 'ServiceTimeout' || code === 'SessionCannotBeLocked';
}

/** Whether the message had been settled before on the same link. */
export function isSettledAlready(error: unknown): boolean {
  return error instanceof Error && /already (been )?settled/i.test(error.message);
}
