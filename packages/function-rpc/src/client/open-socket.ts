import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { checkServerIdentity, connect as connectTls } from 'node:tls';
import type { TlsCredentials } from '../grpc/tls-credentials.js';

/** The worker's certificate, and who signs the host's. */
export interface ClientTls extends TlsCredentials {
  /** The name to look for in the host's certificate, when it is not the one in the URL. */
  readonly serverName?: string;
}

/** Begins to connect, with TLS 1.3 for `https:` and without for `http:`. */
export function openSocket(url: URL, tls: ClientTls | undefined): Socket {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (url.protocol === 'http:' && !tls) return connectTcp({ host, port: Number(url.port || 80), noDelay: true });
  if (url.protocol !== 'https:' || !tls) throw new RangeError(`${url.protocol} is http:, or https: with a certificate`);
  const { key, cert, ca, serverName = host } = tls;
  const socket = connectTls({
    host,
    port: Number(url.port || 443),
    key,
    cert,
    ca: [ca].flat(),
    // Addresses are no server names; they are looked for in the certificate all the same.
    ...(isIP(serverName) === 0 && { servername: serverName }),
    minVersion: 'TLSv1.3',
    ALPNProtocols: ['h2'],
    checkServerIdentity: (_, certificate) => checkServerIdentity(serverName, certificate),
  });
  return socket.setNoDelay(true);
}
