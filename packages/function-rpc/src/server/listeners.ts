import { constants as cryptoConstants } from 'node:crypto';
import { once } from 'node:events';
import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type ServerOptions,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { maxHeaderListBytes, maxSessionMemory, windows } from '../grpc/limits.js';
import type { TlsCredentials } from '../grpc/peer.js';

/** An address that a server listens on. */
export interface Listener {
  readonly host: string;
  readonly port: number;
}

/** An address with TLS, whose certificate can be replaced while the server runs. */
export interface TlsListener extends Listener {
  /** Uses the new certificate for new connections. Open connections stay. */
  renew(credentials: TlsCredentials): void;
}

/** A server with or without TLS. */
export type AnyServer = Http2Server | Http2SecureServer;

/** Creates a server for HTTP/2 without TLS, for processes on this machine. */
export function createLoopbackServer(maxStreams: number): Http2Server {
  return createServer(http2Options(maxStreams));
}

/** Creates a server for HTTP/2 over TLS 1.3 that requires client certificates of the given authority. */
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

/** Returns the TLS options that depend on the certificate and change with it. */
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
    // No session resumption: every connection presents its certificate.
    secureOptions: cryptoConstants.SSL_OP_NO_TICKET,
  };
}

/** Starts to listen and returns the address. */
export async function listen(server: AnyServer, { host, port }: Listener): Promise<Listener> {
  server.listen({ host, port, exclusive: true });
  await once(server, 'listening');
  const address = server.address() as AddressInfo; // it listens on TCP
  return { host: address.address, port: address.port };
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
