import { readFileSync } from 'node:fs';
import { connectEventStream, type ClientTls, type EventStream } from '@drover/function-rpc';
import type { TlsSources } from '../config.js';

/**
 * On loopback the closed socket reveals a dead host, and pings would do harm: a function that blocks the event loop for
 * longer than the ping timeout would lose its stream. Across a network pings are the only way to detect a dead host.
 */
const keepAlive = {
  loopback: { intervalMs: 0, timeoutMs: 0 },
  network: { intervalMs: 20_000, timeoutMs: 120_000 },
};

/** Room for two responses of the maximum size. More queued bytes mean that the host does not read. */
const maxQueuedBytes = 1_024 * 1_024 * 1_024;

/** The largest response that is sent, even if the host accepts more. */
export const maxResponseBytes = maxQueuedBytes / 2;

/** Returns a function that opens streams to the host, with TLS for an https URL. Throws when a certificate cannot be read. */
export function createDial(options: {
  readonly url: URL;
  readonly tls: TlsSources | undefined;
  readonly maxMessageBytes: number;
}): (signal: AbortSignal) => Promise<EventStream> {
  const { url, tls, maxMessageBytes } = options;
  if (tls) readTls(tls); // fail at start, not at every attempt
  return async (signal) =>
    await connectEventStream({
      url,
      signal,
      limits: { maxMessageBytes, maxQueuedBytes },
      keepAlive: tls ? keepAlive.network : keepAlive.loopback,
      // Read for each connection: certificates are renewed while the worker runs.
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

/** Returns `source` if it is PEM, otherwise the content of the file it names. */
function pemOf(variable: string, source: string): string {
  if (source.includes('-----BEGIN ')) return source;
  try {
    return readFileSync(source, 'utf8');
  } catch (error) {
    // The value is not printed: it may be a key.
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new Error(`${variable} is neither PEM nor the path of a readable file (${code})`, { cause: error });
  }
}
