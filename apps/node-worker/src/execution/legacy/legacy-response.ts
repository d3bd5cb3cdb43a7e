import type { Done } from './legacy-context.js';

/**
 * `context.res` of a v3 function, unless the function replaces it by its own object. `end`, `send`, `json` and `sendStatus`
 * also end the function.
 */
export class LegacyResponse {
  statusCode: string | number | undefined;
  headers: Record<string, unknown> = {};
  cookies: unknown[] = [];
  body: unknown;
  enableContentNegotiation: boolean | undefined;
  readonly #done: Done;

  constructor(done: Done) {
    this.#done = done;
  }

  // Fields, not methods: apps pass them as callbacks and copy the object with its functions.
  readonly end = (body?: unknown): this => {
    if (body !== undefined) this.body = body;
    if (Buffer.isBuffer(this.body)) this.headers['content-type'] ??= 'application/octet-stream';
    this.#done();
    return this;
  };
  readonly send = this.end;

  readonly setHeader = (field: string, value: unknown): this => {
    this.headers[field.toLowerCase()] = value;
    return this;
  };
  readonly header = this.setHeader;
  readonly set = this.setHeader;

  readonly getHeader = (field: string): unknown => this.headers[field.toLowerCase()];
  readonly get = this.getHeader;

  readonly removeHeader = (field: string): this => {
    delete this.headers[field.toLowerCase()];
    return this;
  };

  readonly status = (statusCode: string | number): this => {
    this.statusCode = statusCode;
    return this;
  };

  readonly sendStatus = (statusCode: string | number): this => this.status(statusCode).end();

  readonly type = (type: string): this => this.setHeader('content-type', type);

  readonly json = (body?: unknown): void => {
    this.type('application/json').send(body);
  };
}
