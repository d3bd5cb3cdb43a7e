/** Those whose answers are taken apart alike: HEAD and CONNECT have rules of their own. */
export type ClientMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A request, ready to be sent but for the length of its body. */
export interface ClientRequest {
  /** `requestHead` and any number of `headerLine`s: nothing else may come into it, since nobody looks at it again. */
  readonly head: string;
  readonly body: string | Buffer;
}

const sendable = /^[\x20-\x7e]+$/;
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const target = /^\/[\x21-\x7e]*$/;

/** Visible text and spaces: nothing that ends a line, and nothing that means something else to the next one who reads it. */
export function isHeaderValue(text: string): boolean {
  return sendable.test(text);
}

/** The first line, and those that say where it goes; for all requests to the same URL. */
export function requestHead(method: ClientMethod, url: URL): string {
  const path = `${url.pathname}${url.search}`;
  if (!target.test(path)) throw new TypeError('the path of a URL must be visible text that begins with a slash');
  return `${method} ${path} HTTP/1.1\r\n${headerLine('host', url.host)}connection: keep-alive\r\n`;
}

/** One header with its line's end. Throws for what fits into none: see `isHeaderValue`. */
export function headerLine(name: string, value: string): string {
  if (!token.test(name) || !isHeaderValue(value))
    throw new TypeError(`the value for the header ${name} does not fit into one`);
  return `${name}: ${value}\r\n`;
}
