import type { TenantId } from './ids.js';

/** JSON as text. It is validated once, where it enters the platform, and passed on unparsed from there. */
export interface Payload {
  readonly json: string;
  /** The JSON text is one string that holds binary data in this encoding. */
  readonly encoding?: 'base64';
}

/**
 * An execution as it was accepted: immutable, whatever happens to the execution later. Optional properties may be present with the
 * value `undefined`, so that the engine can create every object with the same hidden class.
 */
export interface AcceptedCall {
  readonly executionId: string;
  readonly tenantId: TenantId;
  readonly functionName: string;
  /** The generation of the function that the call was accepted for. */
  readonly generation: number;
  readonly payload: Payload;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Request headers of the caller: lower-case names, without connection headers and credentials. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The caller of a `sync` execution waits for its result; an `async` one is stored until it has run. */
  readonly kind: 'sync' | 'async';
  readonly idempotencyKey?: string | undefined;
  /** Executions of a function with the same key run one after the other, in the order of their acceptance. */
  readonly concurrencyKey?: string | undefined;
  readonly traceId?: string | undefined;
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
  /** Epoch milliseconds. */
  readonly acceptedAt: number;
  /** Epoch milliseconds before which no attempt may start. */
  readonly runAt?: number | undefined;
  readonly callbackUrl?: string | undefined;
  readonly replayOf?: string | undefined;
}

/** Whether the execution must survive this process: the caller was promised that it runs, or that it runs once per key. */
export function isDurable({ kind, idempotencyKey }: AcceptedCall): boolean {
  return kind === 'async' || idempotencyKey !== undefined;
}

/** Estimates the size of an execution in memory and in the store. */
export function bytesOf({
  payload,
  metadata,
  headers,
}: Pick<AcceptedCall, 'payload' | 'metadata' | 'headers'>): number {
  return payload.json.length + (metadata ? lengthOf(metadata) : 0) + (headers ? lengthOf(headers) : 0);
}

function lengthOf(texts: Readonly<Record<string, string>>): number {
  let length = 0;
  for (const name in texts) length += name.length + (texts[name]?.length ?? 0);
  return length;
}
