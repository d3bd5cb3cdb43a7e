/** Why the broker refuses. The wire layer maps each code to an AMQP condition, the admin endpoint to an HTTP status. */
export type BrokerErrorCode =
  | 'entity-not-found'
  | 'entity-exists'
  | 'entity-disabled'
  | 'message-lock-lost'
  | 'message-not-found'
  | 'session-lock-lost'
  | 'session-cannot-be-locked'
  | 'not-allowed'
  | 'quota-exceeded'
  | 'invalid-argument';

export class BrokerError extends Error {
  override readonly name = 'BrokerError';
  readonly code: BrokerErrorCode;

  constructor(code: BrokerErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

export function messageLockLost(): BrokerError {
  return new BrokerError(
    'message-lock-lost',
    'The lock of the message is lost: it has expired, or the message was settled before. Receive the message again.',
  );
}

export function sessionLockLost(sessionId: string): BrokerError {
  return new BrokerError(
    'session-lock-lost',
    `The lock on the session '${sessionId}' has expired or was released. Accept the session again.`,
  );
}

export function messageNotFound(sequenceNumbers: readonly number[]): BrokerError {
  return new BrokerError(
    'message-not-found',
    `No message has the sequence number ${sequenceNumbers.join(', ')} in this state. It was settled, has expired, or is locked.`,
  );
}
