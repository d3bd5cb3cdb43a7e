import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Where a program serves, and who it is. */
export interface Listening {
  readonly port: number;
  readonly pid: number;
}

/** A bare node:http server, as they come. */
export async function listenHttp(listener: RequestListener): Promise<Listening> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return { port, pid: process.pid };
}

/** The whole body, as it came. */
export function readBody(request: IncomingMessage, use: (body: Buffer) => void): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => use(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
}

/** What jobs are told: the body of an enqueue, and its input. */
export interface JobBody {
  readonly input: { readonly recorder: number; readonly n: string };
}

export const json = { 'Content-Type': 'application/json' };
