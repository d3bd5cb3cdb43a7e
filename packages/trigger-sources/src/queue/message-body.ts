import { queueMessageUnsendable } from '../errors.js';
import type { MessageEncoding } from './queue-options.js';

/** Limit of the service in bytes on the wire. */
const largestTextBytes = 64 * 1024;
/** Messages are sent in XML 1.0, which cannot represent control characters and lone surrogates, not even escaped. */
const notInXml = /(?![\t\n\r\u007f-\u009f])\p{Cc}|\p{Cs}|[\ufffe\uffff]/u;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export interface DecodedBody {
  readonly bytes: Uint8Array;
  /** Undefined if the bytes are not UTF-8. */
  readonly text: string | undefined;
  /** False if base64 was expected and the text is not: then it is taken as plain text. */
  readonly asExpected: boolean;
}

export function decodeBody(wire: string, encoding: MessageEncoding): DecodedBody {
  const compact = encoding === 'base64' ? wire.replaceAll(/\s/g, '') : '';
  if (encoding === 'none' || !base64.test(compact))
    return { bytes: Buffer.from(wire, 'utf8'), text: wire, asExpected: encoding === 'none' };
  const bytes = Buffer.from(compact, 'base64');
  return { bytes, text: textOf(bytes), asExpected: true };
}

/** Encodes a body for the wire. Throws QUEUE_MESSAGE_UNSENDABLE if the service cannot store it. */
export function encodeBody(body: string | Uint8Array, encoding: MessageEncoding, queue: string): string {
  const wire = encoding === 'base64' ? Buffer.from(body).toString('base64') : plainText(body, queue);
  const size = Buffer.byteLength(wire);
  if (size > largestTextBytes)
    throw queueMessageUnsendable({
      queue,
      problem: `has ${size} bytes${encoding === 'base64' ? ' as base64' : ''}, more than the limit of ${largestTextBytes}. Store large content elsewhere and send its address`,
    });
  return wire;
}

function plainText(body: string | Uint8Array, queue: string): string {
  const text = typeof body === 'string' ? body : textOf(body);
  if (text === undefined || notInXml.test(text))
    throw queueMessageUnsendable({
      queue,
      problem: 'is not plain text, which messageEncoding "none" requires. Use "base64"',
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
