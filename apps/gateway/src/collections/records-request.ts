import type { IncomingMessage, ServerResponse } from 'node:http';
import { isRecordsImport, routeGenerationHeader, serveAnywayHeader } from '@drover/contracts';
import {
  ExtraHeadersSink,
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
  /** A worker acts on it only when it has read the whole of it. */
  readonly isReadWhole: boolean;
  /** A longer body fails the request with REQUEST_BODY_TOO_LARGE. */
  readonly maxBodyBytes: number;
  /** The body is here, or announces its length, and is longer. */
  readonly isTooLong: boolean;
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

export interface RecordsRequestOptions {
  /** Longest body, imports aside. */
  readonly recordsBodyBytes: number;
  /** Headers that its answer gets, whichever it is; names and values in turn. */
  readonly extraHeaders: readonly string[];
  /** Its body, if it was read before. */
  readonly body?: Buffer | undefined;
}

/** A request of the fast lane: received as a whole. */
export class FastLaneRecordsRequest implements RecordsRequest {
  readonly sink: AnswerSink;
  readonly isWhole = true;
  readonly maxBodyBytes: number;
  readonly #request: FastLaneRequest;
  readonly #exchange: FastLaneExchange;
  readonly #extraHeaders: readonly string[];

  constructor(
    request: FastLaneRequest,
    exchange: FastLaneExchange,
    { recordsBodyBytes, extraHeaders }: RecordsRequestOptions,
  ) {
    this.#request = request;
    this.#exchange = exchange;
    this.#extraHeaders = extraHeaders;
    this.maxBodyBytes = maxBodyBytes(request, recordsBodyBytes);
    this.sink = withHeaders(new FastLaneSink(exchange), extraHeaders);
  }

  get isTooLong(): boolean {
    return this.#request.body.length > this.maxBodyBytes;
  }

  get headers(): IncomingMessage['headers'] {
    return this.#request.headers;
  }

  get isReadWhole(): boolean {
    return !isRecordsImport(this.#request.method, this.#request.url);
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
    this.#exchange.answer(status, [...headers, ...this.#extraHeaders], body);
  }

  forwardTo(upstream: Upstream): void {
    upstream.forwardFastLane(this.#request, this.#exchange, { sink: this.sink });
  }
}

/** A request of Node's server. Its body is sent on as it arrives, unless it was read before. */
export class StreamedRecordsRequest implements RecordsRequest {
  readonly sink: AnswerSink;
  readonly isWhole: boolean;
  readonly maxBodyBytes: number;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #body: Buffer | undefined;
  readonly #extraHeaders: readonly string[];

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    { recordsBodyBytes, extraHeaders, body }: RecordsRequestOptions,
  ) {
    this.#request = request;
    this.#response = response;
    this.#body = body;
    this.#extraHeaders = extraHeaders;
    this.maxBodyBytes = maxBodyBytes(request, recordsBodyBytes);
    this.isWhole = body !== undefined || !hasBody(request);
    this.sink = withHeaders(new ResponseSink(response), extraHeaders);
  }

  get isTooLong(): boolean {
    return Number(this.#request.headers['content-length'] ?? 0) > this.maxBodyBytes;
  }

  get headers(): IncomingMessage['headers'] {
    return this.#request.headers;
  }

  get isReadWhole(): boolean {
    return this.isWhole && !isRecordsImport(this.#request.method, this.#request.url);
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
    const forwarded = forwardStream(this.#request, markedChanges(socket.remoteAddress, headers.host, mark));
    const { body } = forwarded;
    if (this.#body) return { ...forwarded, body: this.#body };
    if (!body || !('source' in body)) return forwarded;
    return { ...forwarded, body: { ...body, maxBytes: this.maxBodyBytes } };
  }

  /** What still comes of the body is read and dropped: a client that sends it would not see the answer otherwise. */
  answer({ status, headers, body }: ErrorAnswer): void {
    const all = [...headers, ...this.#extraHeaders, 'content-length', String(Buffer.byteLength(body))];
    this.#response.writeHead(status, all);
    this.#response.end(body);
    this.#request.resume();
  }

  forwardTo(upstream: Upstream): void {
    upstream.forward(this.#request, this.#response, { body: this.#body, sink: this.sink });
  }
}

const withHeaders = (sink: AnswerSink, extra: readonly string[]): AnswerSink =>
  extra.length === 0 ? sink : new ExtraHeadersSink(sink, extra);

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

/** Imports are read row by row, and have no limit. */
function maxBodyBytes({ method, url }: Pick<IncomingMessage, 'method' | 'url'>, limitBytes: number): number {
  return isRecordsImport(method, url) ? Number.POSITIVE_INFINITY : limitBytes;
}
