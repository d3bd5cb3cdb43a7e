import type { TenantId } from './ids.js';

/** JSON as text: it is checked once at the edge and from there on only carried, never parsed and written anew. */
export interface Payload {
  readonly json: string;
  /** The JSON is a string that holds bytes. */
  readonly encoding?: 'base64';
}

/**
 * What was accepted. Never changes, whatever becomes of it. What is not there may be undefined: all of them have one shape then,
 * which counts where there are many.
 */
export interface Invocation {
  readonly executionId: string;
  readonly tenantId: TenantId;
  readonly functionName: string;
  /** Of the function it was accepted for. */
  readonly generation: number;
  readonly payload: Payload;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Of the caller, lower-cased, without those of the connection and without credentials. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Somebody waits for a sync one; an async one is kept until it has run. */
  readonly kind: 'sync' | 'async';
  readonly idempotencyKey?: string | undefined;
  readonly traceId?: string | undefined;
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
  /** Epoch milliseconds. */
  readonly acceptedAt: number;
  /** Epoch milliseconds before which it may not begin. */
  readonly runAt?: number | undefined;
  readonly callbackUrl?: string | undefined;
  readonly replayOf?: string | undefined;
}

/** Whether it must outlive this process: somebody was promised that it runs, or that it runs once for a key. */
export function isDurable({ kind, idempotencyKey }: Invocation): boolean {
  return kind === 'async' || idempotencyKey !== undefined;
}

/** What it takes in memory and in the store, about. */
export function bytesOf({ payload, metadata, headers }: Pick<Invocation, 'payload' | 'metadata' | 'headers'>): number {
  return payload.json.length + (metadata ? lengthOf(metadata) : 0) + (headers ? lengthOf(headers) : 0);
}

function lengthOf(texts: Readonly<Record<string, string>>): number {
  let length = 0;
  for (const name in texts) length += name.length + (texts[name]?.length ?? 0);
  return length;
}
