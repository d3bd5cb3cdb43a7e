import { createHmac } from 'node:crypto';
import type { Secret } from '@drover/service-kit';

/** Where a namespace of Service Bus or Event Hubs is, and how it is accessed. */
export interface NamespaceAddress {
  /** The fully qualified namespace. */
  readonly host: string;
  readonly port: number;
  /** False for an emulator. */
  readonly isEncrypted: boolean;
  readonly access:
    | { readonly kind: 'shared-key'; readonly name: string; readonly key: Secret }
    | { readonly kind: 'signature'; readonly signature: Secret };
}

/** Lifetime of a token. */
const tokenLifeMs = 3_600_000;

/** A token is sent again this long after it was signed. */
export const tokenRenewalMs = 45 * 60_000;

/** The host, with its port unless that is the usual one: signatures are made for this form. */
export function authorityOf({
  host,
  port,
  isEncrypted,
}: Pick<NamespaceAddress, 'host' | 'port' | 'isEncrypted'>): string {
  return port === (isEncrypted ? 5671 : 5672) ? host : `${host}:${port}`;
}

/** Returns the resource that a token is for: an address in the namespace. */
export function audienceOf(namespace: NamespaceAddress, address: string): string {
  return `sb://${authorityOf(namespace)}/${address}`;
}

/** Signs a token for a resource, or returns the signature of the connection string. */
export function accessToken({ access }: NamespaceAddress, audience: string, nowMs: number): string {
  if (access.kind === 'signature') return access.signature.reveal();
  const resource = encodeURIComponent(audience);
  const expires = Math.ceil((nowMs + tokenLifeMs) / 1_000);
  const signature = createHmac('sha256', access.key.reveal()).update(`${resource}\n${expires}`).digest('base64');
  return `SharedAccessSignature sr=${resource}&sig=${encodeURIComponent(signature)}&se=${expires}&skn=${encodeURIComponent(access.name)}`;
}
