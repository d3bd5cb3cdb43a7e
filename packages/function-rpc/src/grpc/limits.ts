const kibibyte = 1_024;
const mebibyte = 1_024 * kibibyte;

/** How long a message may be on a stream whose peer has not said who it is. */
export const maxFirstMessageBytes = 64 * kibibyte;

/** How long a message may be otherwise. */
export const defaultMaxMessageBytes = 128 * mebibyte;

/** What one stream may hold in memory. */
export interface StreamLimits {
  /** A longer message ends the stream. */
  readonly maxMessageBytes: number;
  /** With this much on its way a stream is full: `send` returns false until half of it has left. */
  readonly fullBytes: number;
  /** With more than this on its way the stream is closed: whoever sends has not listened. */
  readonly maxQueuedBytes: number;
}

/** The limits of a stream whose peer is known. */
export const defaultStreamLimits: StreamLimits = {
  maxMessageBytes: defaultMaxMessageBytes,
  fullBytes: 4 * mebibyte,
  // Room for the largest message after a full queue, and for the answer to it.
  maxQueuedBytes: 2 * defaultMaxMessageBytes,
};

/** How much a peer may send before we have read it: on one stream, and on all streams of a connection. */
export const windows = { streamBytes: mebibyte, connectionBytes: 4 * mebibyte } as const;

/** Headers of one request, in bytes as HTTP/2 counts them. */
export const maxHeaderListBytes = 16 * kibibyte;

/**
 * In megabytes, as node:http2 wants it, for one connection. Its default of 10 would cut off a connection on which one large
 * message waits; what waits is bounded by `maxQueuedBytes` and the windows.
 */
export const maxSessionMemory = 1_024;
