import { readFileSync } from 'node:fs';
import { connectEventStream, type ClientTls, type EventStream } from '@drover/function-rpc';
import type { TlsSources } from '../config.js';

/**
 * On this machine a dead host is noticed by its closed socket, and pings would do harm: a function that keeps the event
 * loop busy for longer than their answer may take would lose its own stream. Across a network there is no other way.
 */
const keepAlive = {
  loopback: { intervalMs: 0, timeoutMs: 0 },
  network: { intervalMs: 20_000, timeoutMs: 120_000 },
};

/** Room for two of the largest responses. More, and the host does not read. */
const maxQueuedBytes = 1_024 * 1_024 * 1_024;

/** The largest response that is sent, whatever the host would take. */
export const maxResponseBytes = maxQueuedBytes / 2;

/** Opens streams to the host, with TLS where its address says so. Throws when a certificate cannot be read. */
export function createDial(options: {
  readonly url: URL;
  readonly tls: TlsSources | undefined;
  readonly maxMessageBytes: number;
}): (signal: AbortSignal) => Promise<EventStream> {
  const { url, tls, maxMessageBytes } = options;
  if (tls) readTls(tls); // what is missing at the start will not come with an attempt
  return async (signal) =>
    await connectEventStream({
      url,
      signal,
      limits: { maxMessageBytes, maxQueuedBytes },
      keepAlive: tls ? keepAlive.network : keepAlive.loopback,
      // Read anew each time: certificates are renewed under the feet of a worker that stays.
      ...(tls && { tls: readTls(tls) }),
    });
}

function readTls({ key, cert, ca }: TlsSources): ClientTls {
  return {
    key: pemOf('DROVER_WORKER_KEY', key),
    cert: pemOf('DROVER_WORKER_CERT', cert),
    ca: pemOf('DROVER_WORKER_CA', ca),
  };
}

/** PEM itself, or the content of the file that is named instead. */
function pemOf(variable: string, source: string): string {
  if (source.includes('-----BEGIN ')) return source;
  try {
    return readFileSync(source, 'utf8');
  } catch (error) {
    // Only what is surely a path may be printed.
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new Error(`${variable} is neither PEM nor the path of a file that can be read (${code})`, { cause: error });
  }
}
