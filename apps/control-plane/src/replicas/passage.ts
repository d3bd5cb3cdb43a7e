import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import { headersFromHome, headersToHome, notHomeHeader } from './forward-headers.js';

/**
 * How a request got no answer.
 *
 * - unsent: it never left; nobody has seen anything of it
 * - elsewhere: the replica it went to said that it is not its home, and did nothing
 * - unknown: the connection broke before an answer; how far the request got is not known
 */
export type Miss = 'unsent' | 'elsewhere' | 'unknown';

const repeatableMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

/** One request on its way to its home, and the answer on its way back. */
export class Passage {
  readonly response: ServerResponse;
  readonly #request: IncomingMessage;
  readonly #body: Buffer | undefined;
  #breakOff: () => void = () => undefined;
  /** It was given up because whoever had it is gone. */
  isAbandoned = false;

  /** `body` when it has been read; otherwise it is still in the request. */
  constructor(request: IncomingMessage, response: ServerResponse, body: Buffer | undefined) {
    this.#request = request;
    this.response = response;
    this.#body = body;
  }

  /** All of it is still there. */
  get isWhole(): boolean {
    return this.#body !== undefined || !hasBody(this.#request);
  }

  /** Doing it twice is doing it once. */
  get isRepeatable(): boolean {
    return this.isWhole && repeatableMethods.has(this.#request.method ?? 'GET');
  }

  /** Waits no longer for an answer that has not begun. */
  abandon(): void {
    if (this.response.headersSent) return;
    this.isAbandoned = true;
    this.#breakOff();
  }

  toDispatch(url: string, replicaId: string): Dispatcher.DispatchOptions {
    this.isAbandoned = false;
    this.#breakOff = () => undefined;
    const { method = 'GET', url: path = '/' } = this.#request;
    return {
      origin: url,
      path,
      method,
      headers: headersToHome(this.#request, replicaId),
      body: this.#body ?? (hasBody(this.#request) ? this.#request : null),
    };
  }

  /** `missed` is called when there is no answer to pass back; of 'elsewhere' only if `mayGoElsewhere`. */
  handler(mayGoElsewhere: boolean, missed: (miss: Miss, error: Error) => void): Dispatcher.DispatchHandler {
    const { response } = this;
    const begun = (controller: Dispatcher.DispatchController): void => {
      this.#breakOff = () => controller.abort(new Error('it does not answer, and others have taken over from it'));
      if (this.isAbandoned) this.#breakOff();
    };
    let isSent = false;
    let isElsewhere = false;
    let gone = (): void => undefined;
    let resume = (): void => undefined;
    const letGo = (): void => {
      response.off('close', gone);
      response.off('drain', resume);
    };
    return {
      onRequestStart(controller) {
        isSent = true;
        gone = () => {
          if (!response.writableFinished) controller.abort(new Error('the client is gone'));
        };
        resume = () => controller.resume();
        if (response.destroyed) gone();
        else response.on('close', gone).on('drain', resume);
        begun(controller);
      },
      onResponseStart(controller, status, headers, statusMessage) {
        if (status < 200) return;
        isElsewhere = mayGoElsewhere && headers[notHomeHeader] !== undefined;
        if (isElsewhere) return;
        const raw = Array.isArray(controller.rawHeaders) ? controller.rawHeaders : [];
        response.writeHead(status, statusMessage, headersFromHome(raw));
      },
      onResponseData(controller, chunk) {
        if (!isElsewhere && !response.write(chunk)) controller.pause();
      },
      onResponseEnd() {
        letGo();
        if (isElsewhere) missed('elsewhere', new Error('it is not the home'));
        else response.end();
      },
      onResponseError(_controller, error) {
        letGo();
        // A break in the middle must break here too, so that nobody takes half an answer for a whole one.
        if (response.headersSent || response.destroyed) response.destroy();
        else missed(isSent ? 'unknown' : 'unsent', error);
      },
    };
  }
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** The body, if it says beforehand that it is not longer than `maxBytes`; it is held until the answer is there. */
export function readShortBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> | undefined {
  const length = Number(request.headers['content-length'] ?? Infinity);
  if (!(length <= maxBytes)) return undefined;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.once('end', () => resolve(Buffer.concat(chunks)));
    request.once('error', reject);
    request.once('close', () => reject(new Error('the client is gone')));
  });
}
