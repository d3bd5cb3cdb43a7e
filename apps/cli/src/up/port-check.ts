import { createServer } from 'node:net';
import type { Randomness } from '@drover/service-kit';

/** Returns undefined if a server could listen there now, else the error code of the system. */
export function tryPort(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve('code' in error ? String(error.code) : error.message));
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
}

/** Below the ports that Linux (from 32,768), macOS and Windows (from 49,152) give to sockets that name none. */
const portsForServices = { first: 20_000, count: 12_768 };
const portAttempts = 100;

/**
 * Returns a port of this machine that no server listens on now. The system gives it to no other socket before it is used: one of those
 * that it gives was taken by another process of the same platform, which then did not start.
 */
export async function freeLoopbackPort(randomness: Randomness): Promise<number> {
  for (let attempt = 1; attempt <= portAttempts; attempt += 1) {
    const port = portsForServices.first + (randomness.bytes(4).readUInt32BE() % portsForServices.count);
    if ((await tryPort('127.0.0.1', port)) === undefined) return port;
  }
  throw new Error(`None of ${portAttempts} ports of this machine is free. Set DROVER_SCALE_LINK_PORT to one that is.`);
}
