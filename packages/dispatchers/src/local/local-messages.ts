import type { DefineMessages } from 'isolated-workers';

/**
 * One call on its way to a worker. A tuple, and the input as JSON text: the host neither reads the input nor builds anything
 * out of it, and every call looks the same on the wire.
 */
export type RunPayload = readonly [
  call: number,
  input: string,
  isBinary: boolean,
  executionId: string,
  attempt: number,
  /** Epoch milliseconds after which nobody waits for it: it may have stood behind a call that computed for long. */
  expiresAt: number,
  traceId: string | null,
  traceparent: string | null,
  metadata: Readonly<Record<string, string>> | null,
  headers: Readonly<Record<string, string>> | null,
];

/** What most calls come to is only text: the JSON of the output. */
export type RunReply = string | OkReply | FailedReply | BrokenReply | LateReply;

/** An output with something to say about it. */
export type OkReply = readonly [
  kind: 'ok',
  output: string,
  isBinary: boolean,
  statusCode: number | null,
  headers: Readonly<Record<string, string>> | null,
  /** Told by the first call of a process only. */
  initMs: number | null,
];
/** The handler failed. */
export type FailedReply = readonly [kind: 'failed', message: string, transient: boolean];
/** There is no handler to call: the module cannot be loaded, or has none. */
export type BrokenReply = readonly [kind: 'broken', message: string];
/** Its time was over before it began. */
export type LateReply = readonly [kind: 'late'];

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
/** What handlers said. */
export type LogBatch = readonly (readonly [level: LogLevel, text: string, executionId: string | null])[];

export type LocalMessages = DefineMessages<{
  run: { payload: RunPayload; result: RunReply };
  /** Aborts the signal of that call. Answered as soon as the worker's loop turns: no answer means that it does not. */
  cancel: { payload: number };
}>;

export type LocalHostMessages = DefineMessages<{ lines: { payload: LogBatch } }>;

/** What a worker is born with. */
export interface LocalWorkerData {
  /** Of the handler's module. */
  readonly file: string;
  /** The folder of all handlers: never shown to callers. */
  readonly directory: string;
  readonly functionName: string;
  readonly maxOutputBytes: number;
}
