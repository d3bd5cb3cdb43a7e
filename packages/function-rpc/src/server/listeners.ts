import { constants as cryptoConstants } from 'node:crypto';
import { once } from 'node:events';
import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type ServerOptions,
} from 'node:http2';
import { isIPv4, type AddressInfo } from 'node:net';
import { maxHeaderListBytes, maxSessionMemory, windows } from '../grpc/limits.js';
import type { TlsCredentials } from '../grpc/tls-credentials.js';

/** An address that is listened to. */
export interface Listener {
  readonly host: string;
  readonly port: number;
}

/** Such an address with TLS, whose certificate can be replaced while it serves. */
export interface TlsListener extends Listener {
  /** New connections see the new certificate; those that are open stay. */
  renew(credentials: TlsCredentials): void;
}

/** A server with or without TLS. */
export type AnyServer = Http2Server | Http2SecureServer;

/** Plain HTTP/2, for processes of this machine. */
export function createLoopbackServer(maxStreams: number): Http2Server {
  return createServer(http2Options(maxStreams));
}

/** HTTP/2 over TLS 1.3, for peers with a certificate from our authority. */
export function createTlsServer(maxStreams: number, credentials: TlsCredentials): Http2SecureServer {
  return createSecureServer({
    ...http2Options(maxStreams),
    ...secureContext(credentials),
    ALPNProtocols: ['h2'],
    allowHTTP1: false,
    handshakeTimeout: 10_000,
    requestCert: true,
    rejectUnauthorized: true,
  });
}

/** The part of the options that a certificate brings, and that is renewed with it. */
export function secureContext({ key, cert, ca }: TlsCredentials): {
  key: string | Buffer;
  cert: string | Buffer;
  ca: (string | Buffer)[];
  minVersion: 'TLSv1.3';
  secureOptions: number;
} {
  return {
    key,
    cert,
    ca: [ca].flat(),
    minVersion: 'TLSv1.3',
    // No resumption: every connection shows its certificate and has it checked.
    secureOptions: cryptoConstants.SSL_OP_NO_TICKET,
  };
}

/** Begins to listen and says where. */
export async function listen(server: AnyServer, { host, port }: Listener): Promise<Listener> {
  server.listen({ host, port, exclusive: true });
  await once(server, 'listening');
  const address = server.address() as AddressInfo; // it listens, and not on a pipe
  return { host: address.address, port: address.port };
}

/** True for addresses that no other machine can reach. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

function http2Options(maxConcurrentStreams: number): ServerOptions {
  return {
    maxSessionMemory,
    maxHeaderListPairs: 100,
    settings: {
      initialWindowSize: windows.streamBytes,
      maxConcurrentStreams,
      maxHeaderListSize: maxHeaderListBytes,
      enablePush: false,
    },
  };
}
