import type { ProtoReader } from '../codec/reader.js';
import type { Peer } from '../grpc/peer.js';

/** The context of a call. */
export interface UnaryCall {
  readonly peer: Peer;
  /** Aborts when the caller disconnects or cancels. */
  readonly signal: AbortSignal;
}

/** Decodes the request of a call, which ends at `end`, and runs the call. */
export type UnaryMethod = (reader: ProtoReader, end: number, call: UnaryCall) => Promise<void> | void;
