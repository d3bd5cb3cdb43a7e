import { createServer } from 'node:net';
import { sleep, type Clock } from '@drover/service-kit';

const tryEveryMs = 500;

/**
 * Resolves when no program listens at a port of this machine any more. Tries to listen there: a connection would make an emulator
 * that starts with its first client start for nothing. Rejects with the reason of the signal.
 */
export async function untilPortFree(port: number, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!(await isFree(port))) await sleep(clock, tryEveryMs, signal);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
