/** Received bytes violate the protocol, or a value to send cannot be represented in it. */
export class ProtocolError extends Error {
  readonly code = 'FUNCTION_RPC_PROTOCOL';

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ProtocolError';
  }
}
