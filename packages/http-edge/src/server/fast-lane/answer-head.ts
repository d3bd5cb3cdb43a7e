import { STATUS_CODES } from 'node:http';

/** An answer as it goes over the wire, apart from its body. */
export interface FastLaneAnswerHead {
  readonly status: number;
  /** Names and values in turn. Names are checked where they are made; values here. */
  readonly headers: readonly string[];
  /** Of the body; undefined where there can be none. */
  readonly contentLength: number | undefined;
  /** Lines that every answer has, each with its end. */
  readonly common: string;
}

const ascii = /^[\t\x20-\x7e]*$/;
const sendable = /^[\t\x20-\x7e\x80-\xff]*$/;
const token = /^[\w!#$%&'*+.^`|~-]+$/;

/** The head's text, and whether bytes and characters are the same in it. Throws on what would end a header early. */
export function writeHead({ status, headers, contentLength, common }: FastLaneAnswerHead): {
  readonly text: string;
  readonly isAscii: boolean;
} {
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n${common}`;
  let isAscii = true;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] ?? '';
    const value = headers[index + 1] ?? '';
    if (!ascii.test(value)) {
      if (!sendable.test(value)) throw new TypeError(`the header ${name} has a value that no header may have`);
      isAscii = false;
    }
    if (!token.test(name)) throw new TypeError('a header has a name that no header may have');
    text += `${name}: ${value}\r\n`;
  }
  if (contentLength !== undefined) text += `content-length: ${contentLength}\r\n`;
  return { text: `${text}\r\n`, isAscii };
}
