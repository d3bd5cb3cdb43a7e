import type { Http2Session } from 'node:http2';

/** How a dead peer is detected. */
export interface KeepAlive {
  /** Time between two pings; 0 sends none. */
  readonly intervalMs: number;
  /** How long the peer may take to answer a ping. */
  readonly timeoutMs: number;
}

/**
 * For peers on other machines, whose loss the kernel does not report. The timeout is long because pings are answered on the
 * event loop, which a handler may block. On loopback the kernel closes the socket of a dead process.
 */
const defaultForNetwork: KeepAlive = { intervalMs: 20_000, timeoutMs: 45_000 };
const never: KeepAlive = { intervalMs: 0, timeoutMs: 0 };

/** Pings the peer while the connection is open, and destroys the connection when an answer is late. */
export function keepAlive(session: Http2Session, policy: KeepAlive | undefined): void {
  const { intervalMs, timeoutMs } = policy ?? (session.encrypted ? defaultForNetwork : never);
  if (intervalMs === 0) return;
  let deadline: NodeJS.Timeout | undefined;
  const ping = (): void => {
    if (session.destroyed || deadline) return;
    deadline = setTimeout(() => session.destroy(new Error(`no answer to a ping within ${timeoutMs} ms`)), timeoutMs);
    deadline.unref();
    // Returns false when too many pings are outstanding; the deadline covers that.
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
