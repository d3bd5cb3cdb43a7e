/** What was received breaks the protocol, or what should be sent cannot be said in it. */
export class ProtocolError extends Error {
  readonly code = 'FUNCTION_RPC_PROTOCOL';

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ProtocolError';
  }
}
