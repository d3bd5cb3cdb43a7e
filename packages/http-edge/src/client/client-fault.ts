/**
 * - ANSWER_NOT_HTTP: it breaks the rules of HTTP/1.1
 * - ANSWER_AMBIGUOUS: it says twice where it ends, and not the same
 * - ANSWER_SWITCHES: it wants to speak another protocol from now on
 * - ANSWER_HEAD_TOO_LARGE, ANSWER_BODY_TOO_LARGE: more than is taken
 * - CONNECTION_LOST: the other side ended the connection before its answer was whole
 * - CONNECT_TIMEOUT: there was no connection in time
 * - CONNECT_GIVEN_UP: it was destroyed before there was a connection
 */
export type ClientFaultCode = keyof typeof messages;

const messages = {
  ANSWER_NOT_HTTP: 'the answer breaks the rules of HTTP/1.1',
  ANSWER_AMBIGUOUS: 'the answer says twice where it ends, and not the same',
  ANSWER_SWITCHES: 'the answer switches to another protocol, unasked',
  ANSWER_HEAD_TOO_LARGE: 'the answer has more headers than are taken',
  ANSWER_BODY_TOO_LARGE: 'the answer has a larger body than is taken',
  CONNECTION_LOST: 'the other side ended the connection before its answer was whole',
  CONNECT_TIMEOUT: 'there was no connection in time',
  CONNECT_GIVEN_UP: 'it was given up before there was a connection',
} as const;

/** Why there is no whole answer, as far as it is not the system's own error. */
export class ClientFault extends Error {
  readonly code: ClientFaultCode;

  constructor(code: ClientFaultCode) {
    super(messages[code]);
    this.code = code;
  }
}
