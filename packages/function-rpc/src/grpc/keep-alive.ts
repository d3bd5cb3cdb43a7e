import type { Http2Session } from 'node:http2';

/** How a connection is watched for a peer that went silent. */
export interface KeepAlive {
  /** How long nothing may come before a ping is sent; 0 sends none. */
  readonly intervalMs: number;
  /** How long the answer may take. */
  readonly timeoutMs: number;
}

/**
 * For peers on other machines, which can vanish without a word. Long enough that a worker is not given up because a handler
 * keeps its event loop busy: pings are answered from there. A process of this machine cannot vanish unnoticed.
 */
const defaultForNetwork: KeepAlive = { intervalMs: 20_000, timeoutMs: 45_000 };
const never: KeepAlive = { intervalMs: 0, timeoutMs: 0 };

/** Pings the peer for as long as the connection lives, and destroys the connection when no answer comes. */
export function keepAlive(session: Http2Session, policy: KeepAlive | undefined): void {
  const { intervalMs, timeoutMs } = policy ?? (session.encrypted ? defaultForNetwork : never);
  if (intervalMs === 0) return;
  let deadline: NodeJS.Timeout | undefined;
  const ping = (): void => {
    if (session.destroyed || deadline) return;
    deadline = setTimeout(() => session.destroy(new Error(`no answer to a ping within ${timeoutMs} ms`)), timeoutMs);
    deadline.unref();
    // Returns false when too many pings are on their way, which the deadline covers.
    session.ping((error) => {
      clearTimeout(deadline);
      deadline = undefined;
      if (error && !session.destroyed) session.destroy(error);
    });
  };
  const interval = setInterval(ping, intervalMs).unref();
  session.once('close', () => {
    clearInterval(interval);
    clearTimeout(deadline);
  });
}
