import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';

/** What everybody looks at of a request, whichever way it came in. */
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
  /** Nothing that is said now reaches the client. */
  readonly isOver: boolean;
  /** `headers` are names and values in turn, without the length of the body; `isLast` ends the connection. */
  answer(status: number, headers: readonly string[], body: string | Buffer | undefined, isLast: boolean): void;
  /** The whole body, once; or, as soon as that is known, that it is longer than it may be. Neither when it breaks off. */
  readBody(limitBytes: number, take: (body: Buffer) => void, tooLong: () => void): void;
  /** Nobody wants the body. It must not stand in the way of the next request. */
  discardBody(): void;
  /** For whoever passes the request on as it comes. Nothing: it comes in once more, by a way that has them. */
  streams(): { readonly request: IncomingMessage; readonly response: ServerResponse } | undefined;
}

/** What becomes of it in the end: answered with a status, or its client left before. */
export type WireEnd = (status: number, hasLeft: boolean) => void;

/** Stands in figures and logs where nobody was there to be answered; the number that others use for it. */
export const clientLeft = 499;
