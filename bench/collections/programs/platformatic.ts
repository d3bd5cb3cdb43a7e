import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { serveRequests } from '../../harness/program.js';
import type { Listening } from '../../functions-api/programs/serve-http.js';

/** What the program is told. */
export interface PlatformaticRequest {
  /** Where `@platformatic/db` is installed. */
  readonly folder: string;
  readonly url: string;
  readonly poolSize: number;
}

/** What is used of `@platformatic/db`, which is no dependency. */
interface PlatformaticDb {
  readonly create: (root: string, config: object) => Promise<PlatformaticServer>;
}

interface PlatformaticServer {
  start(options: object): Promise<unknown>;
  getUrl(): string;
}

serveRequests<PlatformaticRequest>(async ({ folder, url, poolSize }): Promise<Listening> => {
  const module = pathToFileURL(path.join(folder, 'node_modules/@platformatic/db/index.js')).href;
  const { create } = (await import(module)) as PlatformaticDb;
  const server = await create(folder, {
    server: { hostname: '127.0.0.1', port: 0, logger: { level: 'error' } },
    db: { connectionString: url, schema: ['peer'], poolSize, openapi: true, graphql: true },
    watch: false,
  });
  await server.start({ listen: true });
  return { port: Number(new URL(server.getUrl()).port), pid: process.pid };
});
