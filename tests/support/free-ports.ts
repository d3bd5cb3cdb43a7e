import { createServer } from 'node:net';

const lowest = 12_000;
const highest = 20_000;

/**
 * Returns ports of this machine that are free now, all different. They are below the ranges from which Linux takes ports
 * for connections and for listeners on port 0, and `drover up` those of its processes: no other process gets one by chance before the test
 * uses it, or while it restarts what uses it.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest));
    if (!ports.has(port) && (await isFree(port))) ports.add(port);
  }
  return [...ports];
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
