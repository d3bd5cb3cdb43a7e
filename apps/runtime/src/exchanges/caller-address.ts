import type { IncomingHttpHeaders } from 'node:http';
import type { ReceivedRequest } from './functions-wire.js';

const hostPattern = /^[\w.~-]+(?::\d{1,5})?$|^\[[0-9a-f:.]+\](?::\d{1,5})?$/i;

/** Nothing but a name or an address, and a port: it becomes part of addresses. */
export function isGoodHost(host: string): boolean {
  return hostPattern.test(host);
}

/** How the caller reached us: as a proxy of ours says, if its word counts. */
export function schemeOf(headers: IncomingHttpHeaders, trustsForwarded: boolean): 'http' | 'https' {
  const forwarded = trustsForwarded ? headers['x-forwarded-proto'] : undefined;
  return typeof forwarded === 'string' && first(forwarded).toLowerCase() === 'https' ? 'https' : 'http';
}

/** The host that the caller asked for. */
export function hostOf(headers: IncomingHttpHeaders, trustsForwarded: boolean): string {
  const forwarded = trustsForwarded ? headers['x-forwarded-host'] : undefined;
  if (typeof forwarded === 'string' && isGoodHost(first(forwarded))) return first(forwarded);
  return headers.host ?? 'localhost';
}

/**
 * Somebody at this machine, by a program of their own. A page of any site can make a browser send requests here, too, even
 * under a name of its choice: what has an origin or asks for another name is not trusted.
 */
export function isFromThisMachine({ headers, socket }: Pick<ReceivedRequest, 'headers' | 'socket'>): boolean {
  const address = socket.remoteAddress ?? '';
  const site = headers['sec-fetch-site'] ?? 'none';
  return (
    /^(?:::ffff:)?127\.|^::1$/.test(address) &&
    /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i.test(headers.host ?? '') &&
    headers.origin === undefined &&
    site === 'none'
  );
}

function first(list: string): string {
  return list.split(',')[0]?.trim() ?? '';
}
