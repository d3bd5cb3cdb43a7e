import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  runtimeCalls,
  type RuntimeIndexAnswer,
  type RuntimeIndexRequest,
  type RuntimeListing,
} from '@drover/contracts';

export type IndexBehaviour = (request: RuntimeIndexRequest) => RuntimeIndexAnswer | Promise<RuntimeIndexAnswer>;

/** Answers with one HTTP function. */
export const oneFunction: IndexBehaviour = () => indexOf('m1', ['hello']);

/** An index of HTTP functions with these names, which are their routes, too. */
export function indexOf(
  metadataVersion: string,
  names: readonly string[],
  problems: readonly { readonly functionName: string; readonly problem: string }[] = [],
): RuntimeIndexAnswer {
  const functions = names.map((name) => ({
    name,
    triggerType: 'httpTrigger',
    isDisabled: false,
    trigger: { type: 'httpTrigger', route: name },
    route: { path: `api/${name}`, literals: ['api', name.toLowerCase()] },
    metadata: { name },
  }));
  return { kind: 'indexed', index: { metadataVersion, functions, problems }, warnings: [] };
}

/** The admin port of a runtime that indexes as a test says, and serves nothing. */
export class ScriptedRuntime {
  index: IndexBehaviour = oneFunction;
  /** Requests for an index, in order. */
  readonly indexed: RuntimeIndexRequest[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const reply = (status: number, body: unknown): void => {
          response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
        };
        if (request.url !== runtimeCalls.indexesPath) {
          reply(200, { applications: [] } satisfies RuntimeListing);
          return;
        }
        const wanted = JSON.parse(Buffer.concat(chunks).toString('utf8')) as RuntimeIndexRequest; // of the control plane
        this.indexed.push(wanted);
        void Promise.resolve(this.index(wanted)).then(
          (answer) => reply(200, answer),
          () => reply(500, {}),
        );
      });
    });
  }

  static async open(): Promise<ScriptedRuntime> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new ScriptedRuntime(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`; // it listens on TCP
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
