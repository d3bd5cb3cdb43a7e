import { createHmac } from 'node:crypto';

/** What is signed: the id of the message, which all its deliveries share, the time of this delivery, and the body as it is sent. */
export interface SignedMessage {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly sentAt: number;
  readonly body: string | Buffer;
}

/**
 * Returns the headers of Standard Webhooks, names and values in turn: id, timestamp in seconds, and one signature per key, so that a
 * receiver that knows one of the keys of a rotation accepts it. Returns none without a key.
 */
export function signatureHeaders({ id, sentAt, body }: SignedMessage, keys: readonly Buffer[]): readonly string[] {
  if (keys.length === 0) return [];
  const timestamp = String(Math.floor(sentAt / 1_000));
  const signatures = keys.map((key) => {
    const signature = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64');
    return `v1,${signature}`;
  });
  return ['webhook-id', id, 'webhook-timestamp', timestamp, 'webhook-signature', signatures.join(' ')];
}
