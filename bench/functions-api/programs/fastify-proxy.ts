import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import fastify from 'fastify';
import { Pool } from 'undici';
import { serveRequests } from '../../harness/program.js';
import type { ProxyRequest } from './bare-proxy.js';
import type { Listening } from './serve-http.js';

interface Call {
  readonly input: unknown;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** What one writes in an afternoon: the body parsed, sent on as JSON, and what comes back in an envelope. */
serveRequests<ProxyRequest>(async ({ endpointPort }): Promise<Listening> => {
  const pool = new Pool(`http://127.0.0.1:${endpointPort}`, { connections: 64 });
  const app = fastify();
  app.post<{ Body: Call }>('/invoke', async ({ body: { input, metadata = {} } }) => {
    const executionId = randomUUID();
    const answer = await pool.request({
      method: 'POST',
      path: '/noop',
      headers: { 'content-type': 'application/json', 'x-execution-id': executionId },
      body: JSON.stringify({ input, metadata }),
    });
    return { executionId, status: 'success', output: await answer.body.json(), error: null };
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  return { port: (app.server.address() as AddressInfo).port, pid: process.pid }; // it listens on TCP
});
