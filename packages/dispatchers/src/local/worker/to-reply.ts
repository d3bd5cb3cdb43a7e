import type { RunReply } from '../local-messages.js';

/** What a handler sets beside its output, and the facts of a cold start. */
export interface ReplyExtras {
  readonly statusCode: number | null;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly initMs: number | null;
}

/** Converts the return value of a handler. */
export function toReply(value: unknown, extras: ReplyExtras | undefined, maxOutputBytes: number): RunReply {
  let json: string | undefined;
  const isBinary = value instanceof Uint8Array;
  try {
    json = isBinary ? base64(value) : value === undefined ? 'null' : JSON.stringify(value);
  } catch (error) {
    return ['failed', `the return value of the handler cannot be written as JSON: ${describeFailure(error)}`, false];
  }
  if (json === undefined) return ['failed', `the handler returned a ${typeof value}, which JSON cannot hold`, false];
  const bytes = json.length * 3 <= maxOutputBytes ? json.length : Buffer.byteLength(json);
  if (bytes > maxOutputBytes)
    return ['failed', `the handler returned ${bytes} bytes of JSON; the maximum is ${maxOutputBytes}`, false];
  if (!extras && !isBinary) return json;
  const { statusCode = null, headers = null, initMs = null } = extras ?? {};
  return ['ok', json, isBinary, statusCode, headers, initMs];
}

export function toFailure(thrown: unknown): RunReply {
  return ['failed', describeFailure(thrown), saysTransient(thrown)];
}

function base64({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return `"${Buffer.from(buffer, byteOffset, byteLength).toString('base64')}"`;
}

const maxLength = 2_000;

/** Describes a thrown value for the caller: without stack and control characters, with bounded length. */
export function describeFailure(thrown: unknown): string {
  return (
    textOf(thrown)
      // oxlint-disable-next-line no-control-regex -- control characters are what it removes; line ends and tabs stay
      .replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f]/g, ' ')
      .slice(0, maxLength)
  );
}

/** A thrown value may be anything, also an object whose getters throw. */
function textOf(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return `the handler threw ${asText(thrown)}`;
    const { name, message }: { readonly name: unknown; readonly message: unknown } = thrown; // may be of any type at run time
    return message === '' ? String(name) : `${String(name)}: ${String(message)}`;
  } catch {
    return 'the handler threw a value that cannot be read';
  }
}

function asText(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown;
  if (typeof thrown !== 'object' || thrown === null) return String(thrown);
  // An Error of another realm is no instance of this one's.
  if ('message' in thrown && typeof thrown.message === 'string') return thrown.message;
  return JSON.stringify(thrown);
}

/** True when the thrown value asks for a retry. */
function saysTransient(thrown: unknown): boolean {
  try {
    if (typeof thrown !== 'object' || thrown === null) return false;
    return ('transient' in thrown && thrown.transient === true) || ('retryable' in thrown && thrown.retryable === true);
  } catch {
    return false;
  }
}
