/** The part of an entity an address means. `transfer` holds what could not be forwarded. */
export type SubQueue = 'main' | 'dead-letter' | 'transfer';

export interface EntityAddress {
  /** `orders`, or `prices/Subscriptions/eu`. As the client wrote it: compare with `entityKey`. */
  readonly path: string;
  readonly topic: string | undefined;
  readonly subscription: string | undefined;
  readonly subQueue: SubQueue;
}

export const deadLetterSuffix = '/$DeadLetterQueue';
export const transferSuffix = '/$Transfer/$DeadLetterQueue';
const pattern = /^(.+?)(\/\$transfer\/\$deadletterqueue|\/\$deadletterqueue)?(?:\/\$management)?$/i;

/** Reads `<entity>[/$DeadLetterQueue][/$management]`. Returns undefined if nothing but a suffix is left. */
export function parseAddress(address: string): EntityAddress | undefined {
  const match = pattern.exec(address.replace(/^\/+|\/+$/g, ''));
  const path = match?.[1];
  if (match === null || path === undefined || path.startsWith('$')) return undefined;
  const suffix = match[2]?.toLowerCase();
  const subQueue =
    suffix === undefined ? 'main' : suffix === deadLetterSuffix.toLowerCase() ? 'dead-letter' : 'transfer';
  const parts = /^(.+)\/subscriptions\/([^/]+)$/i.exec(path);
  return { path, topic: parts?.[1], subscription: parts?.[2], subQueue };
}

/** Entities are found without regard to case. */
export function entityKey(path: string): string {
  return path.toLowerCase();
}

export function subscriptionPath(topic: string, subscription: string): string {
  return `${topic}/Subscriptions/${subscription}`;
}
