/** Why there is no whole answer, where the reason is not an error of the system. */
export type ClientFaultCode = keyof typeof messages;

const messages = {
  ANSWER_NOT_HTTP: 'The answer breaks the rules of HTTP/1.1.',
  ANSWER_AMBIGUOUS: 'The answer gives its length twice, with different values.',
  ANSWER_SWITCHES: 'The answer switches to another protocol, which was not asked for.',
  ANSWER_HEAD_TOO_LARGE: 'The headers of the answer are larger than the limit.',
  ANSWER_BODY_TOO_LARGE: 'The body of the answer is larger than the limit.',
  CONNECTION_LOST: 'The server closed the connection before its answer was complete.',
  CONNECT_TIMEOUT: 'The connection was not established in time.',
  CONNECT_GIVEN_UP: 'The connection was closed before it was established.',
  REQUEST_BODY_TOO_LARGE: 'The body of the request is larger than the limit.',
  INACTIVE: 'Nothing was sent or received for too long.',
} as const;

export class ClientFault extends Error {
  readonly code: ClientFaultCode;

  constructor(code: ClientFaultCode) {
    super(messages[code]);
    this.code = code;
  }
}
