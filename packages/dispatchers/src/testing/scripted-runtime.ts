import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runtimeCalls } from '@drover/contracts';

const { headBytesHeader } = runtimeCalls;

export interface ScriptedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  /** Undefined: the body has no head before the payload. */
  readonly head: unknown;
  readonly payload: Buffer;
  readonly response: ServerResponse;
}

type Script = (request: ScriptedRequest) => void;

/** A server that plays the runtime; `script` answers its requests. */
export class ScriptedRuntime {
  readonly requests: ScriptedRequest[] = [];
  connections = 0;
  script: Script = ({ response }) => answer(response, 'null');
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => void this.#take(request, response));
    this.#server.on('connection', () => (this.connections += 1));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`; // listens
  }

  async start(port = 0): Promise<this> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer); // without an encoding, all are
    const body = Buffer.concat(chunks);
    const length = Number(request.headers[headBytesHeader] ?? 0);
    const seen = {
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      head: length === 0 ? undefined : (JSON.parse(body.toString('utf8', 0, length)) as unknown),
      payload: body.subarray(length),
      response,
    };
    this.requests.push(seen);
    this.script(seen);
  }
}

/** Writes a successful response as the runtime does. */
export function answer(response: ServerResponse, json: string, head?: object): void {
  const about = head ? JSON.stringify(head) : '';
  response.writeHead(200, {
    'content-type': 'application/json',
    ...(head && { [headBytesHeader]: Buffer.byteLength(about) }),
  });
  response.end(about + json);
}

/** Writes an error response as the runtime does. */
export function refuse(
  response: ServerResponse,
  status: number,
  error: string,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ error, message: `${error} happened`, requestId: 'r' }));
}
