import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { checkServerIdentity, connect as connectTls } from 'node:tls';
import type { TlsCredentials } from '../grpc/peer.js';

/** The worker's certificate, and the authority of the host's certificate. */
export interface ClientTls extends TlsCredentials {
  /** The expected name in the host's certificate; the host of the URL by default. */
  readonly serverName?: string;
}

/** Opens a socket, with TLS 1.3 for `https:` and without TLS for `http:`. Throws for any other combination. */
export function openSocket(url: URL, tls: ClientTls | undefined): Socket {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (url.protocol === 'http:' && !tls) return connectTcp({ host, port: Number(url.port || 80), noDelay: true });
  if (url.protocol !== 'https:' || !tls)
    throw new RangeError(`${url.protocol} is not supported. Use http: without, or https: with a certificate.`);
  const { key, cert, ca, serverName = host } = tls;
  const socket = connectTls({
    host,
    port: Number(url.port || 443),
    key,
    cert,
    ca: [ca].flat(),
    // An IP address is not a valid server name; checkServerIdentity still compares it with the certificate.
    ...(isIP(serverName) === 0 && { servername: serverName }),
    minVersion: 'TLSv1.3',
    ALPNProtocols: ['h2'],
    checkServerIdentity: (_, certificate) => checkServerIdentity(serverName, certificate),
  });
  return socket.setNoDelay(true);
}
