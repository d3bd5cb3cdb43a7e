import { isUtf8 } from 'node:buffer';
import type { RuntimeAnswerHead } from '@drover/contracts';
import type { TypedData } from '@drover/function-rpc';
import type { HttpAnswer } from '../bindings/http-answer.js';
import { NullRecord } from '../bindings/null-record.js';
import type { InvocationOutcome } from '../invocations/invocation-call.js';

/** The result of a call: JSON, and its status, headers or encoding. */
export interface CallOutput {
  readonly json: string;
  readonly head: RuntimeAnswerHead | undefined;
}

/** Converts the return value of a function without an HTTP trigger. JSON of the worker is validated. */
export function returnedOutput(returned: TypedData | undefined): CallOutput {
  if (!returned) return nothing;
  if (returned.json !== undefined) return { json: jsonOrText(returned.json), head: undefined };
  if (returned.string !== undefined) return { json: JSON.stringify(returned.string), head: undefined };
  const bytes = returned.bytes ?? returned.stream;
  if (bytes) return { json: toBase64(bytes), head: { encoding: 'base64' } };
  const whole = returned.int ?? returned.collectionSint64?.sint64;
  // Integers beyond 2^53 are written by their digits, so that they stay exact.
  if (whole !== undefined)
    return { json: typeof whole === 'object' ? `[${whole.join()}]` : String(whole), head: undefined };
  const value = returned.double ?? returned.collectionDouble?.double ?? returned.collectionString?.string;
  return value === undefined ? nothing : { json: JSON.stringify(value), head: undefined };
}

/** Converts the response of a function with an HTTP trigger: JSON stays JSON, text becomes a string, other bodies base64. */
export function answeredOutput({ status, headers, body }: HttpAnswer): CallOutput {
  const named = new NullRecord<string>();
  let type = '';
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = (headers[index] ?? '').toLowerCase();
    const value = headers[index + 1] ?? '';
    if (name === 'content-type') type = value;
    named[name] = name in named ? `${named[name]}, ${value}` : value;
  }
  const head = { statusCode: status, headers: named };
  if (body === undefined || body.length === 0) return { json: 'null', head };
  const kind = kindOf(type);
  const bytes = typeof body === 'string' ? undefined : body;
  if (bytes && (kind === 'bytes' || !isUtf8(bytes)))
    return { json: toBase64(bytes), head: { ...head, encoding: 'base64' } };
  const text = bytes ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8') : String(body);
  return { json: kind === 'json' ? jsonOrText(text) : JSON.stringify(text), head };
}

/** Adds where the time of the call went, if it waited for a function worker. */
export function withColdStart(output: CallOutput, { coldStartMs }: Pick<InvocationOutcome, 'coldStartMs'>): CallOutput {
  return coldStartMs ? { json: output.json, head: { ...output.head, coldStartMs } } : output;
}

const nothing: CallOutput = { json: 'null', head: undefined };

function kindOf(contentType: string): 'json' | 'text' | 'bytes' {
  if (contentType === 'application/json') return 'json';
  const type = (contentType.split(';')[0] ?? '').trim().toLowerCase();
  if (type === 'application/json' || type.endsWith('+json')) return 'json';
  return type === '' ||
    /^text\/|^application\/(?:.*\+)?xml$|^application\/(?:javascript|x-www-form-urlencoded)$/.test(type)
    ? 'text'
    : 'bytes';
}

/** The text becomes part of a JSON document, so invalid JSON is encoded as a string. */
function jsonOrText(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}

function toBase64(bytes: Uint8Array): string {
  return `"${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')}"`;
}
