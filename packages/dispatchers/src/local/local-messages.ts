import type { DefineMessages } from '@drover/isolated-workers';

/**
 * One attempt for a worker. A tuple with the input as JSON text: the host does not parse the input, and every call has the same
 * shape on the wire.
 */
export type RunPayload = readonly [
  input: string,
  isBinary: boolean,
  executionId: string,
  attempt: number,
  /** Epoch milliseconds. A call that begins later is not run: it may have waited behind one that computed. */
  expiresAt: number,
  traceId: string | null,
  traceparent: string | null,
  metadata: Readonly<Record<string, string>> | null,
  headers: Readonly<Record<string, string>> | null,
  idempotencyKey: string | null,
];

/** Most replies are the JSON of the output and nothing else. */
export type RunReply = string | OkReply | FailedReply | BrokenReply | LateReply;

/** An output with a status, headers or the facts of a cold start. */
type OkReply = readonly [
  kind: 'ok',
  output: string,
  isBinary: boolean,
  statusCode: number | null,
  headers: Readonly<Record<string, string>> | null,
  /** Set in the first reply of a worker only. */
  initMs: number | null,
];
/** The handler failed. */
type FailedReply = readonly [kind: 'failed', message: string, transient: boolean];
/** The module cannot be loaded, or exports no handler. */
type BrokenReply = readonly [kind: 'broken', message: string];
/** The call expired before it began. */
type LateReply = readonly [kind: 'late'];

export type HandlerLogLevel = 'debug' | 'info' | 'warn' | 'error';
/** Log lines of handlers. */
export type LogBatch = readonly (readonly [level: HandlerLogLevel, text: string, executionId: string | null])[];

export type LocalMessages = DefineMessages<{
  run: { payload: RunPayload; result: RunReply };
}>;

export type LocalHostMessages = DefineMessages<{ lines: { payload: LogBatch } }>;

/** The `workerData` of a worker. */
export interface LocalWorkerData {
  /** Path of the handler's module. */
  readonly file: string;
  /** The folder of all handlers. Must not appear in messages for callers. */
  readonly directory: string;
  readonly functionName: string;
  readonly maxOutputBytes: number;
}
