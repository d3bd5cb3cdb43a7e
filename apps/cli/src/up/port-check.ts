import { createServer } from 'node:net';

/** Returns undefined if a server could listen there now, else the error code of the system. */
export function tryPort(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve('code' in error ? String(error.code) : error.message));
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
}
