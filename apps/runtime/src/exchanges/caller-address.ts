import type { IncomingHttpHeaders } from 'node:http';
import type { ReceivedRequest } from './functions-wire.js';

const hostPattern = /^[\w.~-]+(?::\d{1,5})?$|^\[[0-9a-f:.]+\](?::\d{1,5})?$/i;

/** Whether a Host header is a name or an address with an optional port. It becomes part of URLs, so nothing else is accepted. */
export function isGoodHost(host: string): boolean {
  return hostPattern.test(host);
}

/** Returns the scheme of the client: from `x-forwarded-proto` if the proxy is trusted. */
export function schemeOf(headers: IncomingHttpHeaders, trustsForwarded: boolean): 'http' | 'https' {
  const forwarded = trustsForwarded ? headers['x-forwarded-proto'] : undefined;
  return typeof forwarded === 'string' && first(forwarded).toLowerCase() === 'https' ? 'https' : 'http';
}

/** Returns the host that the client requested: from `x-forwarded-host` if the proxy is trusted. */
export function hostOf(headers: IncomingHttpHeaders, trustsForwarded: boolean): string {
  const forwarded = trustsForwarded ? headers['x-forwarded-host'] : undefined;
  if (typeof forwarded === 'string' && isGoodHost(first(forwarded))) return first(forwarded);
  return headers.host ?? 'localhost';
}

/**
 * Whether a request comes from a program on this machine, also through the gateway or another proxy. Any web page can make a
 * browser send requests to loopback, even under another host name, so requests with an Origin or a foreign Host are not trusted.
 */
export function isFromThisMachine({ headers, socket }: Pick<ReceivedRequest, 'headers' | 'socket'>): boolean {
  const forwarded = String(headers['x-forwarded-for'] ?? '127.0.0.1').split(',');
  const site = headers['sec-fetch-site'] ?? 'none';
  return (
    [socket.remoteAddress ?? '', ...forwarded].every((address) => /^(?:::ffff:)?127\.|^::1$/.test(address.trim())) &&
    /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i.test(headers.host ?? '') &&
    headers.origin === undefined &&
    site === 'none'
  );
}

function first(list: string): string {
  return list.split(',')[0]?.trim() ?? '';
}
