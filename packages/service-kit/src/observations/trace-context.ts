import type { Randomness } from '../time/randomness.js';

/** Where a piece of work belongs, in W3C Trace Context terms. */
export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
}

// Version 00 ends after the flags; a later version may add fields, which we skip; ff is not a version.
const pattern = /^(?:00(?=.{53}$)|(?!00|ff)[0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-|$)/;

/** Continues the trace of a `traceparent` header; without a valid one, begins a new trace. */
export function continueTrace(traceparent: string | undefined, randomness: Randomness): TraceContext {
  const spanId = randomness.bytes(8).toString('hex');
  const [, traceId, parentSpanId] = pattern.exec(traceparent ?? '') ?? [];
  const valid = traceId !== undefined && parentSpanId !== undefined && !isZero(traceId) && !isZero(parentSpanId);
  return valid ? { traceId, spanId, parentSpanId } : { traceId: randomness.bytes(16).toString('hex'), spanId };
}

/** The header that hands this work's trace to the next process. */
export function toTraceparent({ traceId, spanId }: TraceContext): string {
  return `00-${traceId}-${spanId}-01`;
}

function isZero(hex: string): boolean {
  return /^0+$/.test(hex);
}
