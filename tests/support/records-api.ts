import { readFile } from 'node:fs/promises';
import type { ReadyLine } from './platform.js';

export interface RecordsAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed body; undefined if there is none. */
  readonly body: any; // oxlint-disable-line typescript/no-explicit-any -- tests look into it with matchers
}

/** Calls the public port with the API key of the platform, or with another one. */
export class RecordsApi {
  readonly url: string;
  readonly #key: string;

  constructor(url: string, key: string) {
    this.url = url;
    this.#key = key;
  }

  static async of({ credentialsFile }: ReadyLine): Promise<RecordsApi> {
    const { url, apiKey } = JSON.parse(await readFile(credentialsFile, 'utf8')) as { url: string; apiKey: string };
    return new RecordsApi(url, apiKey);
  }

  /** The same key at another port. */
  at(url: string): RecordsApi {
    return new RecordsApi(url, this.#key);
  }

  async call(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<RecordsAnswer> {
    const response = await fetch(new URL(path, this.url), {
      method,
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
  }

  /** Returns a response whose body is not read. */
  open(path: string, signal: AbortSignal): Promise<Response> {
    return fetch(new URL(path, this.url), { headers: { authorization: `Bearer ${this.#key}` }, signal });
  }

  /** Sends a request whose client may leave. */
  leave(method: string, path: string, signal: AbortSignal, body?: unknown): Promise<Response> {
    const headers = { authorization: `Bearer ${this.#key}`, 'content-type': 'application/json' };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    return fetch(new URL(path, this.url), { method, headers, signal, ...sent });
  }

  /** Sends a body while it is made. */
  upload(path: string, mediaType: string, body: AsyncIterable<Buffer>): Promise<Response> {
    const headers = { authorization: `Bearer ${this.#key}`, 'content-type': mediaType };
    const stream = ReadableStream.from(body);
    return fetch(new URL(path, this.url), { method: 'POST', headers, body: stream, duplex: 'half' });
  }

  /** Sends text as JSON, also if it is none. */
  send(path: string, body: string): Promise<Response> {
    const headers = { authorization: `Bearer ${this.#key}`, 'content-type': 'application/json' };
    return fetch(new URL(path, this.url), { method: 'POST', headers, body });
  }

  get(path: string): Promise<RecordsAnswer> {
    return this.call('GET', path);
  }

  post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<RecordsAnswer> {
    return this.call('POST', path, body, headers);
  }
}
