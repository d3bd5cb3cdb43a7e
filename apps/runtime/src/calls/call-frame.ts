import type { IncomingHttpHeaders } from 'node:http';
import { runtimeCalls, type RuntimeAnswerHead, type RuntimeCallHead } from '@drover/contracts';
import { isJsonObject } from '../applications/json-text.js';
import { NullRecord } from '../bindings/null-record.js';
import type { Exchange } from '../exchanges/exchange.js';

const { headBytesHeader, bytesType } = runtimeCalls;

/** A call of the control plane. */
export interface Call extends Required<RuntimeCallHead> {
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: Buffer;
  /** Whether the payload is JSON. */
  readonly isJson: boolean;
}

const noHeaders: Readonly<Record<string, string>> = Object.freeze(new NullRecord<string>());

/** Parses a call. Returns undefined if its head is invalid. */
export function readCall(headers: IncomingHttpHeaders, body: Buffer): Call | undefined {
  const isJson = headers['content-type'] !== bytesType;
  const written = headers[headBytesHeader];
  if (written === undefined) return { payload: body, isJson, metadata: undefined, headers: noHeaders };
  const length = typeof written === 'string' && /^\d{1,9}$/.test(written) ? Number(written) : Number.NaN;
  if (!(length <= body.byteLength)) return undefined;
  const head = parseJson(body.toString('utf8', 0, length));
  if (!isJsonObject(head)) return undefined;
  const { metadata, headers: given = {} } = head;
  if (!isTexts(given) || (metadata !== undefined && !isTexts(metadata))) return undefined;
  return { payload: body.subarray(length), isJson, metadata, headers: given };
}

/** Writes the result of a call: `json` is sent as it is, behind `head` if there is one. */
export function writeCallAnswer({ wire }: Exchange, head: RuntimeAnswerHead | undefined, json: string): void {
  if (wire.isOver) return;
  if (!head) return wire.answer(200, jsonType, json);
  const about = JSON.stringify(head);
  wire.answer(200, [...jsonType, headBytesHeader, String(Buffer.byteLength(about))], about + json);
}

const jsonType: readonly string[] = ['content-type', 'application/json'];

function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  if (!isJsonObject(value)) return false;
  for (const name of Object.keys(value)) if (typeof value[name] !== 'string') return false;
  return true;
}

/** Parses JSON. Returns undefined if the text is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
