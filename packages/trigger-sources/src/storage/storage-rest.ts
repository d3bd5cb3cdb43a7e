import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { Agent as HttpAgent, request as httpRequest, type ClientRequest, type IncomingHttpHeaders } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { apiVersion } from './api-version.js';
import type { StorageConnection } from './storage-connection.js';

export interface RestRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Path below the endpoint, URI-encoded, with its slash. */
  readonly path: string;
  /** In the order of their names: signatures need that order. */
  readonly query?: readonly (readonly [name: string, value: string])[];
  /** XML. */
  readonly body?: string;
}

export interface RestResponse {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An error response of the service, with the fields of the errors of the SDK. */
class StorageRestError extends Error {
  readonly code: string | undefined;
  readonly statusCode: number;

  constructor(statusCode: number, code: string | undefined, message: string) {
    super(message);
    this.name = 'StorageRestError';
    this.statusCode = statusCode;
    this.code = code;
  }
}

const loopbackHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1']);
/** 32 messages of 64 KiB, each character an entity, and their XML. More is not an answer of this service. */
const maxBodyBytes = 16 * 1024 * 1024;

/**
 * Sends single requests to a storage service without its SDK, whose policies, spans and serializers cost three times the CPU of the
 * request itself (`bench:triggers`, queue). Same versions, same signatures, same error codes; no retries. For keys and shared access
 * signatures; credentials that need a token, and proxies, are left to the SDK.
 */
export class StorageRest {
  /** Whether the service is on this machine. */
  readonly isNear: boolean;
  readonly #request: (path: string, method: string, headers: Record<string, string>) => ClientRequest;
  readonly #basePath: string;
  readonly #sign: (request: RestRequest, path: string, date: string, length: string) => string | undefined;
  readonly #signature: string;

  constructor(connection: StorageConnection) {
    const { protocol, hostname, port, pathname } = new URL(connection.endpoint);
    const isSecure = protocol === 'https:';
    const options = { keepAlive: true, noDelay: true };
    const agent = isSecure ? new HttpsAgent(options) : new HttpAgent(options);
    const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
    this.isNear = loopbackHosts.has(host);
    const send = isSecure ? httpsRequest : httpRequest;
    this.#request = (path, method, headers) => send({ agent, host, port, path, method, headers });
    this.#basePath = pathname === '/' ? '' : pathname;
    this.#signature = connection.kind === 'uri' ? connection.query.reveal() : '';
    this.#sign = connection.kind === 'uri' ? () => undefined : sharedKey(connection.account, connection.key.reveal());
  }

  /** Resolves with a response of success. Rejects with the code and status of the service, or with the reason of the signal. */
  async send(request: RestRequest, signal: AbortSignal): Promise<RestResponse> {
    signal.throwIfAborted();
    const { method, query = [], body } = request;
    const path = `${this.#basePath}${request.path}`;
    const date = new Date().toUTCString();
    const length = body === undefined ? '0' : `${Buffer.byteLength(body)}`;
    const headers: Record<string, string> = { 'x-ms-date': date, 'x-ms-version': apiVersion };
    if (method !== 'GET') headers['content-length'] = length;
    if (body !== undefined) headers['content-type'] = xmlType;
    const authorization = this.#sign(request, path, date, length);
    if (authorization !== undefined) headers['authorization'] = authorization;
    const pairs = query.map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    if (this.#signature !== '') pairs.push(this.#signature);
    const target = pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
    return await exchange(this.#request(target, method, headers), body, signal);
  }
}

const xmlType = 'application/xml; charset=UTF-8';

/** Returns a function that computes the Authorization header of a request of this account. */
function sharedKey(account: string, key: string) {
  const secret: KeyObject = createSecretKey(Buffer.from(key, 'base64'));
  return ({ method, query = [], body }: RestRequest, path: string, date: string, length: string): string => {
    const type = body === undefined ? '' : xmlType;
    // The empty lines are headers that these requests do not have: encoding, language, MD5, date, conditions, range.
    let text = `${method}\n\n\n${length === '0' ? '' : length}\n\n${type}\n\n\n\n\n\n\n`;
    text += `x-ms-date:${date}\nx-ms-version:${apiVersion}\n/${account}${path}`;
    for (const [name, value] of query) text += `\n${name}:${value}`;
    return `SharedKey ${account}:${createHmac('sha256', secret).update(text, 'utf8').digest('base64')}`;
  };
}

function exchange(request: ClientRequest, body: string | undefined, signal: AbortSignal): Promise<RestResponse> {
  return new Promise((resolve, reject) => {
    const abort = (): void => void request.destroy(signal.reason as Error); // the caller's error
    const fail = (error: unknown): void => {
      signal.removeEventListener('abort', abort);
      reject(signal.aborted ? signal.reason : error);
    };
    signal.addEventListener('abort', abort, { once: true });
    request.once('error', fail);
    request.once('response', (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        chunks.push(chunk);
        if (bytes > maxBodyBytes) request.destroy(new Error('the response is larger than any of a storage service'));
      });
      response.once('error', fail);
      response.once('end', () => {
        signal.removeEventListener('abort', abort);
        const { statusCode = 0, headers } = response;
        const text = bytes === 0 ? '' : Buffer.concat(chunks).toString('utf8');
        if (statusCode >= 200 && statusCode < 300) resolve({ headers, body: text });
        else reject(toError(statusCode, headers, text));
      });
    });
    request.end(body);
  });
}

function toError(status: number, headers: IncomingHttpHeaders, body: string): StorageRestError {
  const inHeader = headers['x-ms-error-code'];
  const code = typeof inHeader === 'string' ? inHeader : /<Code>([^<]+)<\/Code>/.exec(body)?.[1];
  const said = /<Message>([^<\n]+)/.exec(body)?.[1] ?? `status ${status}`;
  return new StorageRestError(status, code, code === undefined ? said : `${said} (${code})`);
}
