import type { X509Certificate } from 'node:crypto';
import type { Http2Session } from 'node:http2';
import { TLSSocket } from 'node:tls';

/** The identity in a certificate. */
export interface PeerCertificate {
  /** One attribute per line: `CN=…`. */
  readonly subject: string;
  /** The URI names, such as `spiffe://…`, in their order in the certificate. */
  readonly uriNames: readonly string[];
  /** SHA-256 of the certificate as hexadecimal pairs separated by colons. */
  readonly fingerprint256: string;
}

/** A key, its certificate chain, and the authorities that sign the certificates of peers, as PEM. */
export interface TlsCredentials {
  readonly key: string | Buffer;
  readonly cert: string | Buffer;
  readonly ca: string | Buffer | readonly (string | Buffer)[];
}

/** The other end of a stream. */
export type Peer =
  | { readonly kind: 'loopback'; readonly address: string }
  | { readonly kind: 'tls'; readonly address: string; readonly certificate: PeerCertificate };

/**
 * Returns the peer of a new connection. Returns undefined when the connection is closed already, or when the kind is `tls`
 * and the peer has no certificate.
 */
export function peerOf(session: Http2Session, kind: Peer['kind']): Peer | undefined {
  if (session.destroyed) return undefined;
  const { socket } = session;
  const address = addressOf(socket);
  if (kind === 'loopback') return { kind, address };
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  return certificate && { kind, address, certificate: describeCertificate(certificate) };
}

/** Returns address and port of the other end, for logs. */
export function addressOf(socket: { remoteAddress?: string | undefined; remotePort?: number | undefined }): string {
  return `${socket.remoteAddress ?? 'unknown'}:${socket.remotePort ?? 0}`;
}

/** Extracts the identity from a certificate. */
function describeCertificate(certificate: X509Certificate): PeerCertificate {
  const { subject, subjectAltName, fingerprint256 } = certificate;
  return { subject, uriNames: uriNames(subjectAltName ?? ''), fingerprint256 };
}

/**
 * Returns the URI names of `URI:a, DNS:b, URI:"c, d"`. Node writes a name with a comma or a quote as JSON, so that it cannot
 * be mistaken for two names.
 */
export function uriNames(subjectAltName: string): string[] {
  const names: string[] = [];
  for (const [, kind, quoted, plain] of subjectAltName.matchAll(
    /([^:,"]+):(?:("(?:[^"\\]|\\.)*")|([^,"]*))(?:, |$)/gy,
  )) {
    if (kind !== 'URI') continue;
    names.push(quoted === undefined ? (plain ?? '') : String(JSON.parse(quoted)));
  }
  return names;
}
