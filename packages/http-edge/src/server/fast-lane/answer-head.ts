import { STATUS_CODES } from 'node:http';

/** The head of an answer that this server writes. */
export interface FastLaneAnswerHead {
  readonly status: number;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  /** Undefined where the status allows no body. */
  readonly contentLength: number | undefined;
  /** Header lines about the connection, each with its line end. */
  readonly connectionLines: string;
  /** Left out if the headers have a date of their own. */
  readonly dateLine: string;
}

const ascii = /^[\t\x20-\x7e]*$/;
const sendable = /^[\t\x20-\x7e\x80-\xff]*$/;
const token = /^[\w!#$%&'*+.^`|~-]+$/;

/** Returns the head as text, and whether all of it is ASCII. Throws TypeError on names and values that would break out of their line. */
export function writeHead({ status, headers, contentLength, connectionLines, dateLine }: FastLaneAnswerHead): {
  readonly text: string;
  readonly isAscii: boolean;
} {
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n${connectionLines}`;
  let isAscii = true;
  let hasDate = false;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] ?? '';
    const value = headers[index + 1] ?? '';
    if (!ascii.test(value)) {
      if (!sendable.test(value))
        throw new TypeError(`The value of the header ${name} has control characters or characters beyond Latin-1.`);
      isAscii = false;
    }
    if (!token.test(name))
      throw new TypeError('The name of a header is empty or has characters that are not allowed in a name.');
    if (name.length === 4 && name.toLowerCase() === 'date') hasDate = true;
    text += `${name}: ${value}\r\n`;
  }
  if (!hasDate) text += dateLine;
  if (contentLength !== undefined) text += `content-length: ${contentLength}\r\n`;
  return { text: `${text}\r\n`, isAscii };
}
