import type { RpcHttpInit, TypedDataInit } from '@drover/function-rpc';
import { toRpcCookie } from '../rpc-cookie.js';

/** Responses with these statuses have no body. */
const nullBodyStatuses: ReadonlySet<number> = new Set([204, 205, 304]);

const noBytes = new Uint8Array(0);

/**
 * Converts the response of a handler if it is a plain object with status, headers, cookies, and a body of text, bytes or
 * JSON. Returns undefined for anything else: the library converts or rejects it.
 */
export function fastHttpResponse(result: object): TypedDataInit | undefined {
  if (Object.getPrototypeOf(result) !== Object.prototype) return undefined;
  const {
    status = 200,
    headers,
    body,
    jsonBody,
    cookies,
    enableContentNegotiation,
  } = result as Record<string, unknown>;
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 200 || status > 599) return undefined;
  const content = contentOf(status, body, jsonBody);
  if (!content || (cookies !== undefined && !Array.isArray(cookies))) return undefined;
  const http: RpcHttpInit = {
    statusCode: String(status),
    headers: headersOf(headers, content.type),
    body: { bytes: content.bytes },
    enableContentNegotiation: Boolean(enableContentNegotiation),
    ...(cookies && cookies.length > 0 && { cookies: cookies.map(toRpcCookie) }),
  };
  return { http };
}

interface Content {
  readonly bytes: Uint8Array;
  /** The default content type. */
  readonly type?: string;
}

function contentOf(status: number, body: unknown, jsonBody: unknown): Content | undefined {
  if (nullBodyStatuses.has(status)) return { bytes: noBytes };
  if (jsonBody !== undefined && jsonBody !== null) {
    const text = JSON.stringify(jsonBody) as string | undefined; // its declaration leaves out undefined
    return text === undefined ? undefined : { bytes: Buffer.from(text), type: 'application/json' };
  }
  if (typeof body === 'string') return { bytes: Buffer.from(body), type: 'text/plain;charset=UTF-8' };
  if (body === undefined || body === null) return { bytes: noBytes };
  if (body instanceof Uint8Array) return { bytes: body };
  return body instanceof ArrayBuffer ? { bytes: new Uint8Array(body) } : undefined;
}

function headersOf(given: unknown, type: string | undefined): Record<string, string> {
  if (given === undefined || given === null) return type === undefined ? {} : { 'content-type': type };
  const headers = new Headers(given as Record<string, string>); // throws for invalid headers, as the library does
  if (type !== undefined && !headers.has('content-type')) headers.set('content-type', type);
  return Object.fromEntries(headers);
}
