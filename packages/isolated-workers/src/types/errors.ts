import type { ShutdownReason } from './config.js';

/** How a worker ended. */
export interface CrashFacts {
  readonly reason: ShutdownReason;
  readonly pid: number | undefined;
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The last 4 KiB of its standard error. */
  readonly stderr: string;
  /** The error that ended it, if its standard error shows one: name, message, stack and code. */
  readonly thrown?: Error | undefined;
  /** True if the worker is known to have exceeded its heap or memory limit. */
  readonly outOfMemory: boolean;
  readonly uptimeMs: number;
  /** The host ended it: `recycle`, `onTimeout: 'recycle'`, or a pool whose worker did not acknowledge a cancellation. */
  readonly endedByHost?: boolean;
}

/** The worker died while it processed this request. `cause` is the error that ended it, if it is known. */
export class WorkerCrashedError extends Error {
  override readonly name = 'WorkerCrashedError';
  readonly code = 'ERR_WORKER_CRASHED';
  readonly reason: ShutdownReason;
  readonly messageType: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly pid: number | undefined;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stderr: string;
  readonly outOfMemory: boolean;
  readonly endedByHost: boolean;

  /** `facts` is what this library knows beyond the reason. Without it the exit code and the signal are those of the reason. */
  constructor(
    message: string,
    reason: ShutdownReason,
    messageType: string,
    attempt: number,
    maxAttempts: number,
    facts: Partial<Omit<CrashFacts, 'reason'>> = {},
  ) {
    const cause = reason.type === 'error' ? reason.error : facts.thrown;
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
    this.messageType = messageType;
    this.attempt = attempt;
    this.maxAttempts = maxAttempts;
    this.pid = facts.pid;
    const { code = null, signal = null } = reason.type === 'exit' ? reason : {};
    this.exitCode = facts.exitCode === undefined ? code : facts.exitCode;
    this.signal = facts.signal === undefined ? signal : facts.signal;
    this.stderr = facts.stderr ?? '';
    this.outOfMemory = facts.outOfMemory ?? false;
    this.endedByHost = facts.endedByHost ?? false;
  }
}

/** No worker is available: it did not start, or died too often. `cause` is the error that ended it, if it is known. */
export class WorkerUnavailableError extends Error {
  override readonly name = 'WorkerUnavailableError';
  readonly code = 'ERR_WORKER_UNAVAILABLE';
  /** How the last worker ended; null if it was not started, or by a signal. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The last 4 KiB of its standard error. */
  readonly stderr: string;

  constructor(
    message: string,
    { cause, exitCode = null, signal = null, stderr = '' }: Partial<CrashFacts> & { readonly cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.exitCode = exitCode;
    this.signal = signal;
    this.stderr = stderr;
  }
}

/** The client was closed before the request was answered. */
export class WorkerClosedError extends Error {
  override readonly name = 'WorkerClosedError';
  readonly code = 'ERR_WORKER_CLOSED';

  constructor(message = 'Worker closed') {
    super(message);
  }
}

/** The request exceeded a time limit. */
export class RequestTimeoutError extends Error {
  override readonly name = 'RequestTimeoutError';
  readonly code = 'ERR_REQUEST_TIMEOUT';
  readonly messageType: string;
  readonly timeoutMs: number;
  /** Which limit: `timeout`, for one attempt, or `totalTimeout`, for all attempts together. */
  readonly limit: 'attempt' | 'total';

  constructor(messageType: string, timeoutMs: number, limit: 'attempt' | 'total' = 'attempt') {
    super(`'${messageType}' was not answered within ${timeoutMs} ms${limit === 'total' ? ' in all attempts' : ''}`);
    this.messageType = messageType;
    this.timeoutMs = timeoutMs;
    this.limit = limit;
  }
}

/** The limit of pending requests is reached. */
export class BackpressureError extends Error {
  override readonly name = 'BackpressureError';
  readonly code = 'ERR_BACKPRESSURE';
  readonly limit: number;

  constructor(limit: number) {
    super(`${limit} requests are already pending. Wait for some of them, or raise maxPending.`);
    this.limit = limit;
  }
}

/** The request killed several workers and is refused for a while. */
export class QuarantinedError extends Error {
  override readonly name = 'QuarantinedError';
  readonly code = 'ERR_REQUEST_QUARANTINED';
  readonly messageType: string;
  readonly kills: number;

  constructor(messageType: string, kills: number) {
    super(`'${messageType}' with this payload killed ${kills} workers and is refused until quarantine.forMs is over.`);
    this.messageType = messageType;
    this.kills = kills;
  }
}

/** A payload, result or error cannot be serialized, or a frame cannot be read. */
export class SerializationError extends Error {
  override readonly name = 'SerializationError';
  readonly code = 'ERR_SERIALIZATION';
}

/** The worker has no handler of that name. */
export class UnknownMessageError extends Error {
  override readonly name = 'UnknownMessageError';
  readonly code = 'ERR_UNKNOWN_MESSAGE';
}

/** An option is invalid or not supported by the driver. The message says what to change. */
export class UnsupportedOptionError extends Error {
  override readonly name = 'UnsupportedOptionError';
  readonly code = 'ERR_UNSUPPORTED_OPTION';
}
