const kibibyte = 1_024;
const mebibyte = 1_024 * kibibyte;

/** The message limit of a stream before its peer has identified itself. */
export const maxFirstMessageBytes = 64 * kibibyte;

/** The message limit of an identified peer. */
export const defaultMaxMessageBytes = 128 * mebibyte;

/** The memory limits of one stream. */
export interface StreamLimits {
  /** A longer message ends the stream. */
  readonly maxMessageBytes: number;
  /** With this many queued bytes a stream is full: `send` returns false until half of them are sent. */
  readonly fullBytes: number;
  /** With more queued bytes the stream is closed: the sender ignored that it is full. */
  readonly maxQueuedBytes: number;
}

/** The limits of a stream with an identified peer. */
export const defaultStreamLimits: StreamLimits = {
  maxMessageBytes: defaultMaxMessageBytes,
  fullBytes: 4 * mebibyte,
  // Room for a message of the maximum size behind a full queue, and for the response to it.
  maxQueuedBytes: 2 * defaultMaxMessageBytes,
};

/** The HTTP/2 flow control windows of one stream and of one connection. */
export const windows = { streamBytes: mebibyte, connectionBytes: 4 * mebibyte } as const;

/** The size limit of the headers of one request, as HTTP/2 counts them. */
export const maxHeaderListBytes = 16 * kibibyte;

/**
 * The memory limit of node:http2 for one connection, in megabytes. The default of 10 would close a connection with one large
 * queued message. `maxQueuedBytes` and the windows bound what is queued.
 */
export const maxSessionMemory = 1_024;
