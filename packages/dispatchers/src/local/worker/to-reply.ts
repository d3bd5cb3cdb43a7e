import type { RunReply } from '../local-messages.js';
import { describeFailure, saysTransient } from './describe-failure.js';

/** What the handler said beside its output. */
export interface ReplyExtras {
  readonly statusCode: number | null;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly initMs: number | null;
}

/** Writes what a handler returned. */
export function toReply(value: unknown, extras: ReplyExtras | undefined, maxOutputBytes: number): RunReply {
  let json: string | undefined;
  const isBinary = value instanceof Uint8Array;
  try {
    json = isBinary ? base64(value) : value === undefined ? 'null' : JSON.stringify(value);
  } catch (error) {
    return ['failed', `what the handler returned cannot be written as JSON: ${describeFailure(error)}`, false];
  }
  if (json === undefined) return ['failed', `the handler returned a ${typeof value}, which JSON cannot hold`, false];
  const bytes = json.length * 3 <= maxOutputBytes ? json.length : Buffer.byteLength(json);
  if (bytes > maxOutputBytes)
    return ['failed', `the handler returned ${bytes} bytes of JSON; at most ${maxOutputBytes} are taken`, false];
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
