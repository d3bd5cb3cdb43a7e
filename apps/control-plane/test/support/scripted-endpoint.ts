import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseJson } from './raw-http.js';

/** A call as the endpoint of a function got it. */
export interface EndpointCall {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: {
    readonly input: unknown;
    readonly metadata: unknown;
    readonly headers?: unknown;
    readonly encoding?: string;
  };
  /** Counts from 1. */
  readonly attempt: number;
}

export interface EndpointAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it is. */
  readonly text?: string;
  /** The connection is cut instead. */
  readonly cut?: true;
}

export type Behaviour = (call: EndpointCall) => EndpointAnswer | Promise<EndpointAnswer>;

/** Gives back what it was given. */
export const echo: Behaviour = ({ body }) => ({ json: body.input });

/** Endpoints of any number of functions, on one port: each at a path of its own, each doing what its test says. */
export class ScriptedEndpoint {
  readonly #server: Server;
  readonly #behaviours = new Map<string, Behaviour>();
  readonly #calls = new Map<string, EndpointCall[]>();

  private constructor(server: Server) {
    this.#server = server;
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('error', () => undefined); // the caller has given up; its test knows
      request.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const body = parseJson(text) as EndpointCall['body']; // what a test finds in it is what it looks at
        const attempt = Number(request.headers['x-dispatch-attempt']);
        void this.#answer(request.url?.slice(1) ?? '', { headers: request.headers, text, body, attempt }, response);
      });
    });
  }

  static async open(): Promise<ScriptedEndpoint> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new ScriptedEndpoint(server);
  }

  /** What the function of this name does from now on; the address to register it with. */
  serve(name: string, behaviour: Behaviour): string {
    this.#behaviours.set(name, behaviour);
    const { port } = this.#server.address() as AddressInfo; // a TCP server that listens
    return `http://127.0.0.1:${port}/${name}`;
  }

  /** What the function of this name was called with, oldest first. */
  calls(name: string): readonly EndpointCall[] {
    return this.#calls.get(name) ?? [];
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #answer(name: string, call: EndpointCall, response: ServerResponse): Promise<void> {
    this.#calls.set(name, [...this.calls(name), call]);
    const { status = 200, headers = {}, json, text, cut } = await (this.#behaviours.get(name) ?? echo)(call);
    if (cut) return void response.destroy();
    response.writeHead(status, { ...(text === undefined && { 'content-type': 'application/json' }), ...headers });
    response.end(text ?? JSON.stringify(json ?? null));
  }
}

/** Something that a test lets happen. */
export class Gate {
  readonly opened: Promise<void>;
  #open: () => void = () => undefined;

  constructor() {
    this.opened = new Promise((resolve) => (this.#open = resolve));
  }

  open(): void {
    this.#open();
  }
}
