import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import fastify from 'fastify';
import { Piscina } from 'piscina';
import { serveRequests } from '../../harness/program.js';
import type { Listening } from './serve-http.js';

/** What one writes in an afternoon: fastify in front, a pool of threads behind. */
serveRequests<Record<string, never>>(async (): Promise<Listening> => {
  const pool = new Piscina({
    filename: fileURLToPath(new URL('../handlers/noop.js', import.meta.url)),
    minThreads: 1,
    maxThreads: 2,
    concurrentTasksPerWorker: 64,
  });
  const app = fastify();
  app.post<{ Body: { readonly input: unknown } }>('/invoke', async ({ body: { input } }) => {
    const output: unknown = await pool.run(input);
    return { executionId: randomUUID(), status: 'success', output, error: null };
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  return { port: (app.server.address() as AddressInfo).port, pid: process.pid }; // it listens on TCP
});
