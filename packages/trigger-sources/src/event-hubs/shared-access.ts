import { createHmac } from 'node:crypto';
import { authorityOf, type EventHubConnection } from './event-hub-connection.js';

/** Lifetime of a token. */
const tokenLifeMs = 3_600_000;

/** A token is sent again this long after it was signed. */
export const tokenRenewalMs = 45 * 60_000;

/** Returns the resource that a token is for: an address in the namespace. */
export function audienceOf(connection: EventHubConnection, address: string): string {
  return `sb://${authorityOf(connection)}/${address}`;
}

/** Signs a token for a resource, or returns the signature of the connection string. */
export function accessToken({ access }: EventHubConnection, audience: string, nowMs: number): string {
  if (access.kind === 'signature') return access.signature.reveal();
  const resource = encodeURIComponent(audience);
  const expires = Math.ceil((nowMs + tokenLifeMs) / 1_000);
  const signature = createHmac('sha256', access.key.reveal()).update(`${resource}\n${expires}`).digest('base64');
  return `SharedAccessSignature sr=${resource}&sig=${encodeURIComponent(signature)}&se=${expires}&skn=${encodeURIComponent(access.name)}`;
}
