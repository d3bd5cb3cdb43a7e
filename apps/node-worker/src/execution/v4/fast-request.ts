import type { NullableString, RpcHttp } from '@drover/function-rpc';
import type { LibraryClass } from './library-classes.js';

/** The members of the library's class that are delegated to it. */
interface LibraryRequest {
  readonly headers: Headers;
  readonly user: unknown;
  readonly body: unknown;
  readonly bodyUsed: boolean;
  arrayBuffer(): Promise<ArrayBuffer>;
  blob(): Promise<unknown>;
  formData(): Promise<unknown>;
  json(): Promise<unknown>;
  text(): Promise<string>;
}

export type FastRequestClass = new (http: RpcHttp) => object;

const plainMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const decoder = new TextDecoder();
const noBytes = new Uint8Array(0);

/** False for requests that need the library, and for those it rejects. */
export function isPlainRequest({ method, url, body }: RpcHttp): boolean {
  if (!plainMethods.has(method) || !/^https?:\/\/[^/\s]/.test(url)) return false;
  if (!body) return true;
  return method !== 'GET' && method !== 'HEAD' && body.bytes !== undefined;
}

/**
 * Returns a class whose objects replace requests of the library. The library creates a platform `Request` for each, which
 * takes longer than the rest of an invocation, while most handlers read a few texts. This class answers those itself and
 * creates a request of the library for streams, blobs, forms and users. One long function, because the class refers to the
 * class of the library.
 */
export function fastRequestClass(library: LibraryClass & (new (init: object) => object)): FastRequestClass {
  class FastRequest {
    readonly method: string;
    readonly #http: RpcHttp;
    #url: string | undefined;
    #headers: Headers | undefined;
    #query: URLSearchParams | undefined;
    #params: Record<string, string> | undefined;
    #made: LibraryRequest | undefined;
    #isRead = false;

    constructor(http: RpcHttp) {
      this.#http = http;
      this.method = http.method;
    }

    get url(): string {
      this.#url ??= new URL(this.#http.url).href;
      return this.#url;
    }

    get headers(): Headers {
      if (this.#made) return this.#made.headers;
      this.#headers ??= new Headers(valuesOf(this.#http.nullableHeaders, this.#http.headers));
      return this.#headers;
    }

    get query(): URLSearchParams {
      this.#query ??= new URLSearchParams(valuesOf(this.#http.nullableQuery, this.#http.query));
      return this.#query;
    }

    get params(): Record<string, string> {
      this.#params ??= valuesOf(this.#http.nullableParams, this.#http.params);
      return this.#params;
    }

    get user(): unknown {
      return this.#library().user;
    }

    get body(): unknown {
      return this.#library().body;
    }

    get bodyUsed(): boolean {
      return this.#made ? this.#made.bodyUsed : this.#isRead;
    }

    async arrayBuffer(): Promise<ArrayBuffer> {
      if (this.#made) return await this.#made.arrayBuffer();
      return new Uint8Array(this.#read()).buffer; // a copy, because the bytes may share a larger buffer
    }

    async text(): Promise<string> {
      return this.#made ? await this.#made.text() : decoder.decode(this.#read());
    }

    async json(): Promise<unknown> {
      return this.#made ? await this.#made.json() : JSON.parse(decoder.decode(this.#read()));
    }

    async blob(): Promise<unknown> {
      return await this.#library().blob();
    }

    async formData(): Promise<unknown> {
      return await this.#library().formData();
    }

    clone(): object {
      if (this.bodyUsed) throw new TypeError('Response.clone: Body has already been consumed.');
      return new FastRequest(this.#http);
    }

    #read(): Uint8Array {
      const bytes = this.#http.body?.bytes;
      if (this.#isRead) throw new TypeError('Body is unusable: Body has already been read');
      // An absent body can be read any number of times.
      this.#isRead = bytes !== undefined;
      return bytes ?? noBytes;
    }

    #library(): LibraryRequest {
      if (!this.#made) {
        this.#made = new library(this.#http) as LibraryRequest; // requestClassOf compared its members
        // A body that was read here must count as read there.
        if (this.#isRead) void this.#made.arrayBuffer();
      }
      return this.#made;
    }
  }
  Object.setPrototypeOf(FastRequest.prototype, library.prototype);
  Object.defineProperty(FastRequest.prototype, 'constructor', { value: library, configurable: true, writable: true });
  return FastRequest;
}

function valuesOf(
  nullable: Readonly<Record<string, NullableString>>,
  plain: Readonly<Record<string, string>>,
): Record<string, string> {
  const values: Record<string, string> = {};
  const names = Object.keys(nullable);
  if (names.length === 0) return Object.assign(values, plain);
  for (const name of names) values[name] = nullable[name]?.value ?? '';
  return values;
}
