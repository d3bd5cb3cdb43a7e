import { queueMessageUnsendable } from '../errors.js';
import type { MessageEncoding } from './queue-options.js';

/** What the service takes, counted in bytes of what is on the wire. */
const largestTextBytes = 64 * 1024;
/** XML 1.0, in which messages travel, has no place for control characters and half pairs, not even escaped. */
const notInXml = /(?![\t\n\r\u007f-\u009f])\p{Cc}|\p{Cs}|[\ufffe\uffff]/u;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export interface DecodedBody {
  readonly bytes: Uint8Array;
  /** Undefined when the bytes are no text. */
  readonly text: string | undefined;
  /** False when base64 was expected and this is none: then the text is taken as it is. */
  readonly asExpected: boolean;
}

export function decodeBody(wire: string, encoding: MessageEncoding): DecodedBody {
  const compact = encoding === 'base64' ? wire.replaceAll(/\s/g, '') : '';
  if (encoding === 'none' || !base64.test(compact))
    return { bytes: Buffer.from(wire, 'utf8'), text: wire, asExpected: encoding === 'none' };
  const bytes = Buffer.from(compact, 'base64');
  return { bytes, text: textOf(bytes), asExpected: true };
}

/** What goes on the wire; throws `QUEUE_MESSAGE_UNSENDABLE` when the service could not take it. */
export function encodeBody(body: string | Uint8Array, encoding: MessageEncoding, queue: string): string {
  const wire = encoding === 'base64' ? Buffer.from(body).toString('base64') : plainText(body, queue);
  const size = Buffer.byteLength(wire);
  if (size > largestTextBytes)
    throw queueMessageUnsendable({
      queue,
      problem: `takes ${size} bytes${encoding === 'base64' ? ' as base64' : ''}, and ${largestTextBytes} is the most a queue takes`,
    });
  return wire;
}

function plainText(body: string | Uint8Array, queue: string): string {
  const text = typeof body === 'string' ? body : textOf(body);
  if (text === undefined || notInXml.test(text))
    throw queueMessageUnsendable({
      queue,
      problem: 'is no plain text, which messageEncoding "none" needs; use "base64"',
    });
  return text;
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return strictUtf8.decode(bytes);
  } catch {
    return undefined;
  }
}
