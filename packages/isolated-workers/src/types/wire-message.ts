/**
 * The kinds of messages between host and worker. A message is a tuple that begins with its kind and ends with its value,
 * which is omitted when it is undefined. Ids are increasing numbers, chosen by the side that sends the request.
 */
export const kind = {
  // host to worker
  request: 0,
  cancel: 1,
  credit: 2,
  hostResult: 3,
  hostError: 4,
  close: 5,
  /** Asks the event loop for `sample`. */
  probe: 6,
  // worker to host
  ready: 10,
  result: 11,
  error: 12,
  progress: 13,
  item: 14,
  hostCall: 15,
  startupFailed: 16,
  /** Acknowledges `cancel`. */
  cancelled: 17,
  /** The journal cannot be written any more; with the code of the error. */
  journalLost: 18,
  /** Answers `probe` with the resident memory. */
  sample: 19,
} as const;

export type RequestMessage = [kind: 0, id: number, type: string, extra: RequestExtra | 0, payload?: unknown];
/** Uncommon properties of a request; 0 replaces them when they have their defaults. `credit` is for streams. */
export type RequestExtra = [attempt: number, traceparent: string | null, credit: number];
export type HostCallMessage = [kind: 15, id: number, type: string, payload?: unknown];

export type ToWorker =
  | RequestMessage
  | [kind: 1, id: number]
  | [kind: 2, id: number, items: number]
  | [kind: 3, id: number, value?: unknown]
  | [kind: 4, id: number, error: unknown]
  | [kind: 5]
  | [kind: 6];

export type ToHost =
  | [kind: 10]
  | [kind: 11, id: number, value?: unknown]
  | [kind: 12, id: number, error: unknown]
  | [kind: 13, id: number, value?: unknown]
  | [kind: 14, id: number, value?: unknown]
  | HostCallMessage
  | [kind: 16, error: unknown]
  | [kind: 17, id: number]
  | [kind: 18, code: string]
  | [kind: 19, rssBytes: number];

export type WireMessage = ToWorker | ToHost;

/**
 * The index of the value in the tuple, by kind. Only the value may need more than JSON. The error of a failed start is plain
 * data and not listed: the two sides may disagree about the serializer.
 */
export const valueAt: Readonly<Record<number, number>> = {
  [kind.request]: 4,
  [kind.hostResult]: 2,
  [kind.hostError]: 2,
  [kind.result]: 2,
  [kind.error]: 2,
  [kind.progress]: 2,
  [kind.item]: 2,
  [kind.hostCall]: 3,
};
