import type { Server } from 'node:http';

/** What a health probe reads. */
export interface ProbeStatus {
  readonly isLive: boolean;
  readonly state: string;
  readonly inFlight: number;
}

/** Serves `GET /healthz`: 200 while the worker is connected or may still reconnect, 503 afterwards. */
export class HealthServer {
  readonly #health: () => ProbeStatus;
  #server: Server | undefined;

  constructor(health: () => ProbeStatus) {
    this.#health = health;
  }

  /** Listens and returns the port. Port 0 chooses a free one. */
  async listen(port: number): Promise<number> {
    // Loaded on demand: most workers have no health port.
    const { createServer } = await import('node:http');
    const server = createServer((request, response) => {
      if (request.url?.split('?')[0] !== '/healthz') response.writeHead(404).end();
      else if (request.method !== 'GET' && request.method !== 'HEAD')
        response.writeHead(405, { allow: 'GET, HEAD' }).end();
      else {
        const { isLive, state, inFlight } = this.#health();
        response.writeHead(isLive ? 200 : 503, { 'content-type': 'application/json', 'cache-control': 'no-store' });
        response.end(JSON.stringify({ status: isLive ? 'live' : 'down', connection: state, inFlight }));
      }
    });
    // Probes are short; a slow client must not hold a connection.
    server.requestTimeout = 5_000;
    server.maxConnections = 32;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, () => resolve());
    });
    this.#server = server;
    const address = server.address();
    return typeof address === 'object' && address ? address.port : port;
  }

  stop(): void {
    this.#server?.close();
    this.#server?.closeAllConnections();
  }
}
