import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import { toErrorDocument, type RecordAnswer } from '@drover/collection-engine';
import { isCodedError } from '@drover/contracts';
import { requestIdOf, type EdgeRequest, type Wire } from '@drover/http-edge';
import { acceptedCoding, type AnswerCompressor, type ContentCoding } from './answer-compressor.js';
import { StatementTime } from './statement-time.js';
import { streamBody } from './stream-body.js';

const ids = { uuid: randomUUID };
const jsonApi = 'application/vnd.api+json';

export interface RecordExchangeOptions {
  readonly nowMs: () => number;
  /** The process is stopping: the connection closes after the answer. */
  readonly isClosing: boolean;
  /** Undefined: answers are not compressed. */
  readonly compressor?: AnswerCompressor | undefined;
}

/** One request for records and its answer. */
export class RecordExchange {
  readonly wire: Wire;
  readonly request: EdgeRequest;
  readonly requestId: string;
  readonly startedMs: number;
  /** The pattern of the path; `unmatched` until it is known. */
  route = 'unmatched';
  keyId: string | undefined;
  /** Version of the definition that the request was served with. */
  schemaVersion: number | undefined;
  /** The collection whose worker the request was sent to; undefined if its requests are not counted. */
  collectionId: string | undefined;
  /** Called when the client leaves before its answer is complete. */
  onLeft: (() => void) | undefined;
  /** A failure of the platform, for the log. */
  failure: unknown;
  /** How much of its time were statements. */
  readonly statements: StatementTime;
  readonly #about: RecordExchangeOptions;

  constructor(wire: Wire, about: RecordExchangeOptions) {
    this.wire = wire;
    this.request = wire.request;
    this.startedMs = about.nowMs();
    this.statements = new StatementTime(about.nowMs);
    this.#about = about;
    this.requestId = requestIdOf(this.request.headers, ids);
  }

  /** Writes an answer of an operation. Resolves when a streamed body has ended. */
  async answer({ status, headers, body }: RecordAnswer): Promise<void> {
    if (this.wire.isOver) return;
    const { isClosing } = this.#about;
    if (body === undefined || status === 204 || status === 304) {
      const none = status === 204 || status === 304 ? undefined : '';
      return this.wire.answer(status, this.#headers(headers), none, isClosing);
    }
    if (typeof body === 'string' || Buffer.isBuffer(body)) return this.#answerWhole(status, headers, body);
    if (this.request.method === 'HEAD') {
      await body[Symbol.asyncIterator]().return?.();
      return this.wire.answer(status, this.#headers(headers), undefined, isClosing);
    }
    const compressed = this.#compressStream(headers, body);
    const all = this.#headers(compressed ? codedHeaders(headers, 'gzip') : headers);
    const { sink } = this.wire.proxied();
    sink.begin({ status, statusText: STATUS_CODES[status] ?? '', headers: [], contentLength: -1 }, all);
    await streamBody(compressed ?? body, sink).catch((error: unknown) => {
      this.failure = error;
    });
  }

  async #answerWhole(status: number, headers: RecordAnswer['headers'], body: string | Buffer): Promise<void> {
    const { compressor, isClosing } = this.#about;
    // Characters instead of bytes: never too many, and counting them costs nothing.
    if (!compressor?.isWorth(body.length)) return this.wire.answer(status, this.#headers(headers), body, isClosing);
    const coding = acceptedCoding(this.request.headers['accept-encoding']);
    const compressed = coding && (await compressor.compress(body, coding));
    if (this.wire.isOver) return; // its client left meanwhile
    const more = compressed ? codedHeaders(headers, coding) : { ...headers, ...varying };
    this.wire.answer(status, this.#headers(more), compressed ?? body, isClosing);
  }

  /** Only what is read as a whole: events and reports of an import must arrive one by one. */
  #compressStream(headers: RecordAnswer['headers'], body: AsyncIterable<string>): AsyncIterable<Buffer> | undefined {
    if (this.request.method !== 'GET' || headers['content-type'] === eventStream) return undefined;
    const accepts = this.request.headers['accept-encoding'];
    return acceptedCoding(accepts) ? this.#about.compressor?.compressStream(body) : undefined;
  }

  /** Answers with a JSON:API error document. `headers` are names in lower case and values in turn. */
  refuse(error: unknown, headers: readonly string[] = []): void {
    if (this.wire.isOver) return;
    const { status, errors } = toErrorDocument(error, this.requestId);
    if (status >= 500) this.failure = error;
    const more: Record<string, string> = { 'content-type': jsonApi };
    if (status === 401) more['www-authenticate'] = 'Bearer';
    if (isCodedError(error) && error.retryable && waitable.has(status)) more['retry-after'] = '1';
    this.wire.discardBody();
    const all = [...this.#headers(more), ...headers];
    this.wire.answer(status, all, JSON.stringify({ errors }), this.#about.isClosing);
  }

  #headers(own: Readonly<Record<string, string>>): string[] {
    const all = ['x-request-id', this.requestId, 'x-content-type-options', 'nosniff'];
    if (own['cache-control'] === undefined) all.push('cache-control', 'no-store');
    if (this.schemaVersion !== undefined) all.push('x-schema-version', String(this.schemaVersion));
    all.push('server-timing', this.#timing());
    for (const name in own) all.push(name, own[name] ?? '');
    return all;
  }

  #timing(): string {
    const totalMs = this.#about.nowMs() - this.startedMs;
    return `db;dur=${this.statements.totalMs.toFixed(1)}, total;dur=${totalMs.toFixed(1)}`;
  }
}

const eventStream = 'text/event-stream';
const varying = { vary: 'Accept-Encoding' };

/** Another representation of the record, so another entity tag; reads and writes take either of them. */
function codedHeaders({ etag, ...headers }: RecordAnswer['headers'], coding: ContentCoding): RecordAnswer['headers'] {
  const tag = etag === undefined ? {} : { etag: etag.replace(/"$/, `-${coding}"`) };
  return { ...headers, ...tag, ...varying, 'content-encoding': coding };
}

/** What passes with time: too many requests, unavailable, out of storage. */
const waitable: ReadonlySet<number> = new Set([429, 503, 507]);
