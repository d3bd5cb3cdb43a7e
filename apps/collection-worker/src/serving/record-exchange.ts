import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import { toErrorDocument, type RecordAnswer } from '@drover/collection-engine';
import { isCodedError } from '@drover/contracts';
import { requestIdOf, type EdgeRequest, type Wire } from '@drover/http-edge';
import { streamBody } from './stream-body.js';

const ids = { uuid: randomUUID };
const jsonApi = 'application/vnd.api+json';

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
  readonly #isLast: boolean;

  constructor(wire: Wire, about: { readonly startedMs: number; readonly isClosing: boolean }) {
    this.wire = wire;
    this.request = wire.request;
    this.startedMs = about.startedMs;
    this.#isLast = about.isClosing;
    this.requestId = requestIdOf(this.request.headers, ids);
  }

  /** Writes an answer of an operation. Resolves when a streamed body has ended. */
  async answer({ status, headers, body }: RecordAnswer): Promise<void> {
    if (this.wire.isOver) return;
    const all = this.#headers(headers);
    if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) {
      const hasBody = status !== 204 && status !== 304;
      return this.wire.answer(status, all, hasBody ? (body ?? '') : undefined, this.#isLast);
    }
    if (this.request.method === 'HEAD') {
      await body[Symbol.asyncIterator]().return?.();
      return this.wire.answer(status, all, undefined, this.#isLast);
    }
    const { sink } = this.wire.proxied();
    sink.begin({ status, statusText: STATUS_CODES[status] ?? '', headers: [], contentLength: -1 }, all);
    await streamBody(body, sink).catch((error: unknown) => {
      this.failure = error;
    });
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
    this.wire.answer(status, [...this.#headers(more), ...headers], JSON.stringify({ errors }), this.#isLast);
  }

  #headers(own: Readonly<Record<string, string>>): string[] {
    const all = ['x-request-id', this.requestId, 'x-content-type-options', 'nosniff'];
    if (own['cache-control'] === undefined) all.push('cache-control', 'no-store');
    if (this.schemaVersion !== undefined) all.push('x-schema-version', String(this.schemaVersion));
    for (const name in own) all.push(name, own[name] ?? '');
    return all;
  }
}

/** What passes with time: too many requests, unavailable, out of storage. */
const waitable: ReadonlySet<number> = new Set([429, 503, 507]);
