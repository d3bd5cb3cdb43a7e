import type { X509Certificate } from 'node:crypto';
import type { Http2Session } from 'node:http2';
import { TLSSocket } from 'node:tls';

/** What a certificate says about its owner. */
export interface PeerCertificate {
  /** One attribute a line: `CN=…`. */
  readonly subject: string;
  /** The URI names, such as `spiffe://…`, in the order of the certificate. */
  readonly uriNames: readonly string[];
  /** SHA-256 of the certificate, as pairs of hexadecimal digits with colons between them. */
  readonly fingerprint256: string;
}

/** Who is at the other end of a stream. */
export type Peer =
  | { readonly kind: 'loopback'; readonly address: string }
  | { readonly kind: 'tls'; readonly address: string; readonly certificate: PeerCertificate };

/**
 * The peer of a connection that has just been made, of the kind that it has to be; undefined when it is gone already, or
 * should have a certificate and has none.
 */
export function peerOf(session: Http2Session, kind: Peer['kind']): Peer | undefined {
  if (session.destroyed) return undefined;
  const { socket } = session;
  const address = addressOf(socket);
  if (kind === 'loopback') return { kind, address };
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  return certificate && { kind, address, certificate: describeCertificate(certificate) };
}

/** Address and port of the other end, for logs. */
export function addressOf(socket: { remoteAddress?: string | undefined; remotePort?: number | undefined }): string {
  return `${socket.remoteAddress ?? 'unknown'}:${socket.remotePort ?? 0}`;
}

/** Picks out of a certificate what identifies its owner. */
export function describeCertificate(certificate: X509Certificate): PeerCertificate {
  const { subject, subjectAltName, fingerprint256 } = certificate;
  return { subject, uriNames: uriNames(subjectAltName ?? ''), fingerprint256 };
}

/**
 * The URI names of `URI:a, DNS:b, URI:"c, d"`. A name with a comma or a quote in it is written as JSON: it must not pass
 * for two names.
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
