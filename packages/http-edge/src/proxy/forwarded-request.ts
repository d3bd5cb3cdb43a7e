import type { IncomingMessage } from 'node:http';
import type { ForwardedRequest } from '../client/client-request.js';
import type { FastLaneRequest } from '../server/fast-lane/fast-lane-request.js';
import { isHopByHop, namedByConnectionHeader } from './hop-by-hop.js';

/** A request as its client sent it, whichever way it was read. */
export interface ReceivedHead {
  readonly method: string;
  readonly url: string;
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[];
}

/** What a proxy changes in the head of a request. */
export interface HeadChanges {
  /** Returns true for headers, by their name as written, that are not passed on. */
  readonly drops: (name: string) => boolean;
  /** Header lines to add, each with its line end. */
  readonly added: string;
}

/**
 * Writes the head of a request for the next server: the client's headers as they were spelled and ordered, without those of
 * the connection, then `added`. `isChunked`: the length of the body is not known.
 */
export function forwardedHead(head: ReceivedHead, { drops, added }: HeadChanges, isChunked: boolean): string {
  const { method, url, rawHeaders } = head;
  const named = namedByConnectionHeader(rawHeaders);
  let text = `${method} ${url} HTTP/1.1\r\n`;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (isHopByHop(name) || drops(name) || named?.has(name.toLowerCase())) continue;
    text += `${name}: ${rawHeaders[index + 1] ?? ''}\r\n`;
  }
  return `${text}${added}${isChunked ? chunkedLine : ''}${keepAliveLine}`;
}

const chunkedLine = 'transfer-encoding: chunked\r\n';
const keepAliveLine = 'connection: keep-alive\r\n\r\n';

/** A request of the fast lane, to be sent on. */
export function forwardFastLane(request: FastLaneRequest, changes: HeadChanges): ForwardedRequest {
  const { method, body } = request;
  return {
    wholeHead: forwardedHead(request, changes, false),
    body: body.length === 0 ? undefined : body,
    isHead: method === 'HEAD',
  };
}

/** A request of Node's server, to be sent on; its body as it arrives, unless it was read before. */
export function forwardStream(request: IncomingMessage, changes: HeadChanges, body?: Buffer): ForwardedRequest {
  const { method = 'GET', url = '/', rawHeaders } = request;
  const isChunked = isBodyChunked(request);
  const sent = body ?? (hasBody(request) ? { source: request, isChunked } : undefined);
  return {
    wholeHead: forwardedHead({ method, url, rawHeaders }, changes, isChunked),
    body: sent,
    isHead: method === 'HEAD',
  };
}

/** Returns whether a request announces a body. */
export function hasBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function isBodyChunked({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined;
}
