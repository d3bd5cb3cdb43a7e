import { StatusResultStatus, type InvocationRequest, type StatusResultInit } from '@drover/function-rpc';
import type { LoadedFunction } from '../loading/function-app.js';
import type {
  CoreContextMetadata,
  CoreInvocationContext,
  InvocationState,
  LogCategoryName,
  LogLevelName,
} from '../loading/functions-core.js';
import type { HookScope } from '../loading/hook-contexts.js';
import type { RpcLogs } from '../logs/rpc-logs.js';
import type { HostStream } from '../stream/host-connection.js';
import { failure } from './exceptions.js';

/** The reason of an aborted signal. Code that waits for signals checks the name `AbortError`. */
export class InvocationCancelledError extends Error {
  override readonly name = 'AbortError';
  readonly code = 'INVOCATION_CANCELLED';
}

/** One invocation of a function. Programming models receive it as their core context. */
export class Invocation implements CoreInvocationContext {
  readonly invocationId: string;
  readonly request: InvocationRequest;
  readonly metadata: CoreContextMetadata;
  state: InvocationState | undefined = undefined;
  readonly requestId: string;
  readonly loaded: LoadedFunction;
  readonly stream: HostStream;
  /** Passed to log hooks; set once the arguments exist. */
  hookScope: HookScope | undefined = undefined;
  readonly #logs: RpcLogs;
  /** Created on demand: most functions never read their signal. */
  #controller: AbortController | undefined = undefined;
  #cancelled: InvocationCancelledError | undefined = undefined;

  constructor(
    request: InvocationRequest,
    parts: {
      readonly requestId: string;
      readonly loaded: LoadedFunction;
      readonly stream: HostStream;
      readonly logs: RpcLogs;
    },
  ) {
    this.invocationId = request.invocationId;
    this.request = request;
    this.metadata = parts.loaded.metadata;
    this.requestId = parts.requestId;
    this.loaded = parts.loaded;
    this.stream = parts.stream;
    this.#logs = parts.logs;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#cancelled) this.#controller.abort(this.#cancelled);
    }
    return this.#controller.signal;
  }

  /** Aborts the signal of the function. Later calls do nothing. */
  cancel(reason: string): void {
    if (this.#cancelled) return;
    this.#cancelled = new InvocationCancelledError(reason);
    this.#controller?.abort(this.#cancelled);
  }

  log(level: LogLevelName, category: LogCategoryName, message: string): void {
    const { invocationId, loaded, stream } = this;
    this.#logs.write(stream, { level, category, message, invocationId, source: loaded.category }, this.hookScope);
  }

  /** Returns the result for a thrown value: Cancelled when the invocation was cancelled and threw the abort, else Failure. */
  resultOf(thrown: unknown): StatusResultInit {
    const result = failure(thrown);
    const stopped = this.#cancelled !== undefined && thrown instanceof Error && thrown.name === 'AbortError';
    return stopped ? { ...result, status: StatusResultStatus.Cancelled } : result;
  }
}
