import { isUtf8 } from 'node:buffer';
import type { Payload } from '@drover/contracts';

/** The body contradicts its headers. The message continues a sentence that begins with "the response of …". */
export class UnreadableBody extends Error {}

/** Far above the nesting of real documents. */
const maxDepth = 512;
const [quote, backslash, openBracket, closeBracket, openBrace, closeBrace] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];

const empty: Payload = { json: 'null' };
const base64Text = /^[A-Za-z0-9+/]*={0,2}$/;
const textTypes = /^(?:text\/|application\/(?:.*\+)?(?:xml|yaml|x-yaml|javascript|graphql|x-www-form-urlencoded)$)/;

/** Converts a response body. JSON is validated and then kept as text, not serialised again. */
export function bodyToPayload(body: Buffer | undefined, contentType: string | undefined, isBase64: boolean): Payload {
  if (body === undefined || body.length === 0) return empty;
  // The most frequent type, recognised without parsing the header.
  if (contentType === 'application/json' && !isBase64) return json(body);
  const [type, charset = 'utf-8'] = partsOf(contentType);
  if (isBase64) return base64(body, isJson(type));
  if (isJson(type)) return json(body);
  if (type === '') return guess(body);
  if (!textTypes.test(type)) return bytes(body);
  if (charset === 'iso-8859-1' || charset === 'latin1') return { json: JSON.stringify(body.toString('latin1')) };
  // Other character sets, and text that is not in its own, are kept as bytes.
  return charset === 'utf-8' || charset === 'us-ascii' ? text(body) : bytes(body);
}

function json(body: Buffer): Payload {
  if (!isUtf8(body)) throw new UnreadableBody('claims to be JSON but is not UTF-8');
  if (body.length > 2 * maxDepth && isDeep(body)) throw new UnreadableBody(`is nested deeper than ${maxDepth} levels`);
  const carried = textOf(body);
  try {
    JSON.parse(carried);
  } catch {
    throw new UnreadableBody('claims to be JSON but cannot be parsed');
  }
  return { json: carried };
}

/** Counts brackets before parsing: a parser needs seconds for millions of them, here and in every consumer of the output. */
function isDeep(body: Buffer): boolean {
  let depth = 0;
  let isText = false;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (isText) {
      if (byte === backslash) at += 1;
      else if (byte === quote) isText = false;
    } else if (byte === quote) isText = true;
    else if (byte === openBracket || byte === openBrace) {
      depth += 1;
      if (depth > maxDepth) return true;
    } else if (byte === closeBracket || byte === closeBrace) depth -= 1;
  }
  return false;
}

/** Decodes the body without its byte order mark. */
function textOf(body: Buffer): string {
  const carried = body.toString('utf8');
  return carried.charCodeAt(0) === 0xfeff ? carried.slice(1) : carried;
}

function text(body: Buffer): Payload {
  return isUtf8(body) ? { json: JSON.stringify(textOf(body)) } : bytes(body);
}

function bytes(body: Buffer): Payload {
  return { json: `"${body.toString('base64')}"`, encoding: 'base64' };
}

/** Without a content type: JSON if it parses, else text if it is UTF-8, else bytes. */
function guess(body: Buffer): Payload {
  try {
    return json(body);
  } catch {
    return text(body);
  }
}

/** The endpoint encoded the body itself, as a JSON string or bare. */
function base64(body: Buffer, isQuoted: boolean): Payload {
  const carried = isQuoted ? unquote(json(body).json) : body.toString('latin1').trim();
  if (carried === undefined || carried.length % 4 !== 0 || !base64Text.test(carried))
    throw new UnreadableBody('claims to be base64 but is not');
  return { json: `"${carried}"`, encoding: 'base64' };
}

function unquote(carried: string): string | undefined {
  const value: unknown = JSON.parse(carried);
  return typeof value === 'string' ? value : undefined;
}

function isJson(type: string): boolean {
  return type === 'application/json' || type === 'text/json' || type.endsWith('+json');
}

function partsOf(contentType: string | undefined): readonly [string, string?] {
  if (contentType === undefined) return [''];
  const [type = '', ...parameters] = contentType.toLowerCase().split(';');
  const charset = parameters.map((parameter) => /^\s*charset\s*=\s*"?([^"\s]+)"?\s*$/.exec(parameter)?.[1]);
  const found = charset.find((name) => name !== undefined);
  return found === undefined ? [type.trim()] : [type.trim(), found === 'utf8' ? 'utf-8' : found];
}
