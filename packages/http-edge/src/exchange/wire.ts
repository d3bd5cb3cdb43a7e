import type { IncomingHttpHeaders } from 'node:http';
import type { BodyStream } from '../client/body-stream.js';
import type { AnswerSink } from '../proxy/answer-sink.js';

/** What is read of a request, whichever way it came in. */
export interface EdgeRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<IncomingHttpHeaders>;
  /** Names and values in turn, as they were sent. */
  readonly rawHeaders: readonly string[];
}

/** One request and the way back to its client: through the fast lane, or through Node's server. */
export interface Wire {
  readonly request: EdgeRequest;
  /** Nothing that is written now reaches the client. */
  readonly isOver: boolean;
  /** Aborts when the client has left. Made when it is first read, since most requests need none. */
  readonly signal: AbortSignal;
  /** Writes a whole answer. `headers` are names and values in turn, without the length; `isLast` closes the connection. */
  answer(status: number, headers: readonly string[], body: string | Buffer | undefined, isLast: boolean): void;
  /** Calls `use` with the whole body, or `tooLong` once it is known to be longer than allowed; neither if it breaks off. */
  readBody(limitBytes: number, use: (body: Buffer) => void, tooLong: () => void): void;
  /** Drops the rest of the body, which would otherwise hold up the next request. */
  discardBody(): void;
  /** Returns the body that was not read, and where a proxied answer is written to. */
  proxied(): { readonly body: Buffer | BodyStream | undefined; readonly sink: AnswerSink };
}

/** Called once: with the status of the answer, and whether the client left before it was complete. */
export type WireEnd = (status: number, hasLeft: boolean) => void;

/** The status in metrics and logs for a client that left before any answer; nginx uses the same. */
export const clientLeft = 499;
