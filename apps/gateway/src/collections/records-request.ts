import type { IncomingMessage, ServerResponse } from 'node:http';
import { routeGenerationHeader, serveAnywayHeader } from '@drover/contracts';
import {
  FastLaneSink,
  forwardedChanges,
  forwardFastLane,
  forwardStream,
  hasBody,
  ResponseSink,
  type AnswerSink,
  type ErrorAnswer,
  type FastLaneExchange,
  type FastLaneRequest,
  type ForwardedRequest,
  type HeadChanges,
} from '@drover/http-edge';
import type { Upstream } from '../proxy/upstream.js';

/** By which route a request is sent. */
export interface RequestMark {
  /** 0: by none, because it is about no single collection. */
  readonly generation: number;
  /** The worker serves the request also if the collection is not assigned to it. */
  readonly servesAnyway: boolean;
}

/** A request for records, whichever way it came in. */
export interface RecordsRequest {
  readonly headers: IncomingMessage['headers'];
  readonly sink: AnswerSink;
  /** Its body is here as a whole: it can be sent again. */
  readonly isWhole: boolean;
  /** It changes nothing. */
  readonly isRead: boolean;
  /** Sending it a second time changes nothing more, even if the first one arrived. */
  readonly isRepeatable: boolean;
  toForwarded(mark: RequestMark): ForwardedRequest;
  /** Writes an error answer. */
  answer(error: ErrorAnswer): void;
  /** Sends it by way of one configured worker instead. */
  forwardTo(upstream: Upstream): void;
}

/** A request of the fast lane: received as a whole. */
export class FastLaneRecordsRequest implements RecordsRequest {
  readonly sink: AnswerSink;
  readonly isWhole = true;
  readonly #request: FastLaneRequest;
  readonly #exchange: FastLaneExchange;

  constructor(request: FastLaneRequest, exchange: FastLaneExchange) {
    this.#request = request;
    this.#exchange = exchange;
    this.sink = new FastLaneSink(exchange);
  }

  get headers(): IncomingMessage['headers'] {
    return this.#request.headers;
  }

  get isRead(): boolean {
    return isRead(this.#request.method);
  }

  get isRepeatable(): boolean {
    return isRepeatable(this.#request.method, this.#request.url, this.#request.headers);
  }

  toForwarded(mark: RequestMark): ForwardedRequest {
    return forwardFastLane(
      this.#request,
      markedChanges(this.#exchange.remoteAddress, this.#request.headers['host'], mark),
    );
  }

  answer({ status, headers, body }: ErrorAnswer): void {
    this.#exchange.answer(status, headers, body);
  }

  forwardTo(upstream: Upstream): void {
    upstream.forwardFastLane(this.#request, this.#exchange);
  }
}

/** A request of Node's server: its body is sent on as it arrives. */
export class StreamedRecordsRequest implements RecordsRequest {
  readonly sink: AnswerSink;
  readonly isWhole: boolean;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request;
    this.#response = response;
    this.isWhole = !hasBody(request);
    this.sink = new ResponseSink(response);
  }

  get headers(): IncomingMessage['headers'] {
    return this.#request.headers;
  }

  get isRead(): boolean {
    return this.isWhole && isRead(this.#request.method);
  }

  get isRepeatable(): boolean {
    const { method = '', url = '', headers } = this.#request;
    return this.isWhole && isRepeatable(method, url, headers);
  }

  toForwarded({ generation, servesAnyway }: RequestMark): ForwardedRequest {
    const { socket, headers } = this.#request;
    const mark = { generation, servesAnyway: servesAnyway || !this.isWhole };
    return forwardStream(this.#request, markedChanges(socket.remoteAddress, headers.host, mark));
  }

  answer({ status, headers, body }: ErrorAnswer): void {
    this.#response.writeHead(status, [...headers, 'content-length', String(Buffer.byteLength(body))]);
    this.#response.end(body);
  }

  forwardTo(upstream: Upstream): void {
    upstream.forward(this.#request, this.#response);
  }
}

/** What the gateway changes in the head of a request for records: clients cannot set the marks of a gateway. */
export function recordsChanges(remoteAddress: string | undefined, host: string | undefined): HeadChanges {
  return { drops: dropsHeader, added: forwardedChanges(remoteAddress, host).added };
}

const { drops: dropsForwarded } = forwardedChanges(undefined, undefined);
const dropsHeader = (name: string): boolean => dropsForwarded(name) || isMark(name);

function markedChanges(remoteAddress: string | undefined, host: string | undefined, mark: RequestMark): HeadChanges {
  const { drops, added } = recordsChanges(remoteAddress, host);
  if (mark.generation === 0) return { drops, added };
  const line = `${routeGenerationHeader}: ${mark.generation}\r\n`;
  return { drops, added: added + line + (mark.servesAnyway ? anywayLine : '') };
}

const anywayLine = `${serveAnywayHeader}: 1\r\n`;

/** Looks at names of a fitting length only: lower-casing each would double the cost of writing a head. */
function isMark(name: string): boolean {
  if (name.length !== routeGenerationHeader.length && name.length !== serveAnywayHeader.length) return false;
  const lower = name.toLowerCase();
  return lower === routeGenerationHeader || lower === serveAnywayHeader;
}

const ofCollection = /^\/api\/[^/?]+(?:\?|$)/;

/** Reads, and the creation of records with an `Idempotency-Key`: no other operation remembers its key. */
function isRepeatable(method: string, url: string, headers: IncomingMessage['headers']): boolean {
  if (isRead(method)) return true;
  const key = headers['idempotency-key'];
  return method === 'POST' && typeof key === 'string' && key !== '' && ofCollection.test(url);
}

function isRead(method: string | undefined): boolean {
  return method === 'GET' || method === 'HEAD';
}
