import type { IncomingMessage } from 'node:http';
import { connectionHeaders, namedByConnection } from '@drover/contracts';

/** Marks a request that another replica has passed on, with the id of that replica. */
export const forwardedHeader = 'x-drover-forwarded';

/** In the answer to such a request: this is not its home, and nothing was done. */
export const notHomeHeader = 'x-drover-not-home';

/** True when another replica has passed the request on: whoever gets it must not do so again, or it may go round. */
export function wasForwarded({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers[forwardedHeader] !== undefined;
}

/** Names and values in turn, as the client sent them, and who passes them on. */
export function headersToHome({ rawHeaders, headers }: IncomingMessage, replicaId: string): string[] {
  const kept = keep(rawHeaders, headers.connection);
  kept.push(forwardedHeader, replicaId);
  return kept;
}

/** Names and values in turn, as the home sent them. */
export function headersFromHome(rawHeaders: readonly (string | Buffer)[]): string[] {
  const text = rawHeaders.map((part) => (typeof part === 'string' ? part : part.toString('latin1')));
  const connection = text.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'connection');
  return keep(text, connection < 0 ? undefined : text[connection + 1]);
}

function keep(rawHeaders: readonly string[], connection: string | undefined): string[] {
  // `connection` may name further headers that end here.
  const named = connection === undefined ? none : namedByConnection(connection);
  const kept: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    const lower = name.toLowerCase();
    // An expectation was answered by the server that received it.
    if (connectionHeaders.has(lower) || lower === 'expect' || lower === forwardedHeader || named.has(lower)) continue;
    kept.push(name, rawHeaders[index + 1] ?? '');
  }
  return kept;
}

const none: ReadonlySet<string> = new Set();
