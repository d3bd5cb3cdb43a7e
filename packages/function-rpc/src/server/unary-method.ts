import type { Reader } from '../codec/reader.js';
import type { Peer } from '../grpc/peer.js';

/** What a handler may know about a call. */
export interface UnaryCall {
  readonly peer: Peer;
  /** Aborted when the caller no longer waits. */
  readonly signal: AbortSignal;
}

/** Reads the request of a call, which ends at `end`, and runs it. */
export type UnaryMethod = (reader: Reader, end: number, call: UnaryCall) => Promise<void> | void;
