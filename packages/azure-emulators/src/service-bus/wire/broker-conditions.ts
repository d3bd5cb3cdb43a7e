import { MalformedMessage } from '../../amqp/amqp-bytes.js';
import { amqpConditions, type AmqpError } from '../../amqp/amqp-service.js';
import { JournalError } from '../../journal/journal-error.js';
import { BrokerError, type BrokerErrorCode } from '../broker/broker-error.js';

interface CodeOnTheWire {
  readonly condition: string;
  /** Status of a management reply. */
  readonly status: number;
}

const conditions: Readonly<Record<BrokerErrorCode, CodeOnTheWire>> = {
  'entity-not-found': { condition: amqpConditions.notFound, status: 404 },
  'entity-exists': { condition: 'com.microsoft:entity-already-exists', status: 409 },
  'entity-disabled': { condition: amqpConditions.entityDisabled, status: 403 },
  'message-lock-lost': { condition: amqpConditions.messageLockLost, status: 410 },
  'message-not-found': { condition: amqpConditions.messageNotFound, status: 404 },
  'session-lock-lost': { condition: amqpConditions.sessionLockLost, status: 410 },
  'session-cannot-be-locked': { condition: amqpConditions.sessionCannotBeLocked, status: 410 },
  'not-allowed': { condition: amqpConditions.notAllowed, status: 400 },
  'quota-exceeded': { condition: amqpConditions.resourceLimitExceeded, status: 403 },
  'invalid-argument': { condition: amqpConditions.argumentError, status: 400 },
};

/** Says on the wire why the broker refused. Any other error is a defect: the client is told, and the other clients are served on. */
export function wireError(error: unknown): AmqpError & { readonly status: number } {
  if (error instanceof BrokerError) return { ...conditions[error.code], description: error.message };
  if (error instanceof MalformedMessage) {
    return {
      condition: 'amqp:decode-error',
      status: 400,
      description: `The message cannot be decoded: ${error.message}.`,
    };
  }
  if (error instanceof JournalError)
    return { condition: amqpConditions.serverBusy, status: 503, description: error.message };
  return {
    condition: amqpConditions.internalError,
    status: 500,
    description: `The emulator failed: ${String(error)}.`,
  };
}
