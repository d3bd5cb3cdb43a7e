import type { IncomingHttpHeaders } from 'node:http';
import type { HeadChanges } from '@drover/http-edge';

/** Marks a request that another replica has forwarded, with the id of that replica. */
export const forwardedHeader = 'x-drover-forwarded';

/** Marks the answer of a replica that does not own the partition and has done nothing. */
export const notOwnerHeader = 'x-drover-not-home';

/** Returns whether another replica has forwarded the request: it must not be forwarded again, or it could circulate. */
export function wasForwarded({ headers }: { readonly headers: Readonly<IncomingHttpHeaders> }): boolean {
  return headers[forwardedHeader] !== undefined;
}

/** Returns what forwarding changes in a request: it replaces the mark that a client may have set with its own. */
export function forwardChanges(replicaId: string): HeadChanges {
  return {
    drops: (name) => name.length === forwardedHeader.length && name.toLowerCase() === forwardedHeader,
    added: `${forwardedHeader}: ${replicaId}\r\n`,
  };
}

/** Returns whether an answer, names and values in turn, says that its replica is not the owner. */
export function isFromNonOwner(rawHeaders: readonly string[]): boolean {
  return rawHeaders.some((name, index) => index % 2 === 0 && name.toLowerCase() === notOwnerHeader);
}
