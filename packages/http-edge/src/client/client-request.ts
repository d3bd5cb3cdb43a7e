import type { BodyStream } from './body-stream.js';

/** Methods that `requestHead` writes. */
export type ClientMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A request of our own, complete apart from the length of its body. */
export interface ClientRequest {
  /** `requestHead` and any number of `headerLine`s, and nothing else: the text is sent unchecked. */
  readonly head: string;
  readonly body: string | Buffer;
}

/** A request of another client, to be sent on. */
export interface ForwardedRequest {
  /** Request line, header lines and the empty line: sent unchecked, so it is made of parsed headers only. */
  readonly wholeHead: string;
  readonly body: Buffer | BodyStream | undefined;
  /** The answer to a HEAD request has no body, whatever its headers say. */
  readonly isHead: boolean;
}

const sendable = /^[\x20-\x7e]+$/;
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const target = /^\/[\x21-\x7e]*$/;

/** Returns whether a text can be a header value: visible ASCII and spaces, which every parser reads alike. */
export function isHeaderValue(text: string): boolean {
  return sendable.test(text);
}

/** Returns the request line and the lines about the destination, the same for all requests to one URL. */
export function requestHead(method: ClientMethod, url: URL): string {
  const path = `${url.pathname}${url.search}`;
  if (!target.test(path))
    throw new TypeError(`The path of ${url.origin} has characters that are not visible ASCII. Encode them.`);
  return `${method} ${path} HTTP/1.1\r\n${headerLine('host', url.host)}connection: keep-alive\r\n`;
}

/** Returns one header with its line end. Throws TypeError for values that are not `isHeaderValue`. */
export function headerLine(name: string, value: string): string {
  if (!token.test(name) || !isHeaderValue(value))
    throw new TypeError(
      `The header ${name} cannot be sent: its name or its value has characters that are not allowed.`,
    );
  return `${name}: ${value}\r\n`;
}
