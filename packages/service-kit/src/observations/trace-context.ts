import type { Randomness } from '../time/randomness.js';

/** Position of a piece of work in a trace, in terms of W3C Trace Context. */
export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
}

// Version 00 ends after the flags; later versions may add fields, which are ignored; ff is not a version.
const pattern = /^(?:00(?=.{53}$)|(?!00|ff)[0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-|$)/;

/** Continues the trace of a `traceparent` header, or starts a new trace if the header is absent or invalid. */
export function continueTrace(traceparent: string | undefined, randomness: Randomness): TraceContext {
  const spanId = randomness.bytes(8).toString('hex');
  const [, traceId, parentSpanId] = pattern.exec(traceparent ?? '') ?? [];
  const valid = traceId !== undefined && parentSpanId !== undefined && !isZero(traceId) && !isZero(parentSpanId);
  return valid ? { traceId, spanId, parentSpanId } : { traceId: randomness.bytes(16).toString('hex'), spanId };
}

/** Returns the `traceparent` header for requests to other processes. */
export function toTraceparent({ traceId, spanId }: TraceContext): string {
  return `00-${traceId}-${spanId}-01`;
}

function isZero(hex: string): boolean {
  return /^0+$/.test(hex);
}
