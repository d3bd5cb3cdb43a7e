import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * - pass: as if there were no proxy
 * - refuse: cuts the connection before the service hears of the request
 * - lose: lets the service do it, and cuts the connection before its answer
 * - hang: never answers
 * - a number: answers with that status itself
 */
export type ProxyFault = 'pass' | 'refuse' | 'lose' | 'hang' | number;

/** Stands before a real service and does to requests what networks do. */
export class FaultyProxy {
  readonly #server: Server;
  /** Decides about each request: `DELETE /devstoreaccount1/orders/messages/…`. */
  fault: (request: string) => ProxyFault = () => 'pass';
  readonly requests: string[] = [];

  constructor(targetUrl: string) {
    this.#server = createServer((incoming, answer) => this.#handle(incoming, answer, targetUrl));
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`; // listening on TCP
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #handle(incoming: IncomingMessage, answer: ServerResponse, targetUrl: string): void {
    const line = `${incoming.method} ${incoming.url}`;
    this.requests.push(line);
    const fault = this.fault(line);
    if (fault === 'hang') return;
    if (fault === 'refuse') return void incoming.socket.destroy();
    if (typeof fault === 'number') return void answer.writeHead(fault).end();
    const { method, headers } = incoming;
    const onward = request(new URL(incoming.url ?? '', targetUrl), { method, headers }, (reply) => {
      if (fault === 'lose') {
        reply.resume().once('end', () => incoming.socket.destroy());
        return;
      }
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(answer);
    });
    onward.once('error', () => incoming.socket.destroy());
    incoming.pipe(onward);
  }
}
