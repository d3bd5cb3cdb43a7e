/** The parts of a request that decide whether the page may answer it. */
export interface GuardedRequest {
  readonly method: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** `Sec-Fetch-Site`, which browsers set and scripts cannot change. */
  readonly site: string | undefined;
  readonly contentType: string | undefined;
}

/**
 * Returns why a request must be refused; undefined if it may be answered. The page has no login, so:
 * - the Host header must name this machine and port: another web site cannot make its own name point here and read the answers
 * - a request from another site is refused, and a change must be JSON, which a form of another site cannot send
 */
export function refusePageRequest(request: GuardedRequest, port: number): string | undefined {
  const allowedHosts = ['localhost', '127.0.0.1', '[::1]'].map((name) => `${name}:${port}`);
  const { method, host = '', origin, site, contentType = '' } = request;
  if (!allowedHosts.includes(host.toLowerCase()))
    return `The Host header "${host}" is not this machine. Open http://localhost:${port}/.`;
  if (origin !== undefined && !allowedHosts.some((name) => origin.toLowerCase() === `http://${name}`))
    return 'The request comes from another site.';
  if (site !== undefined && !['same-origin', 'none'].includes(site)) return 'The request comes from another site.';
  if (method !== 'GET' && !/^application\/json\b/i.test(contentType))
    return 'A change must be sent as application/json.';
  return undefined;
}
