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
import type { HostStream } from '../stream/host-stream.js';
import { failure } from './exceptions.js';

/** Why an invocation is no longer wanted. `name` is what code that waits for signals looks at. */
export class InvocationCancelledError extends Error {
  override readonly name = 'AbortError';
  readonly code = 'INVOCATION_CANCELLED';
}

/** One run of a function; programming models know it as their core context. */
export class Invocation implements CoreInvocationContext {
  readonly invocationId: string;
  readonly request: InvocationRequest;
  readonly metadata: CoreContextMetadata;
  state: InvocationState | undefined = undefined;
  readonly requestId: string;
  readonly loaded: LoadedFunction;
  readonly stream: HostStream;
  /** What log hooks are told; there once the arguments are. */
  hookScope: HookScope | undefined = undefined;
  readonly #logs: RpcLogs;
  /** Made for those who ask: most functions never look at their signal. */
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

  /** Tells the function to stop; a second reason is ignored. */
  cancel(reason: string): void {
    if (this.#cancelled) return;
    this.#cancelled = new InvocationCancelledError(reason);
    this.#controller?.abort(this.#cancelled);
  }

  log(level: LogLevelName, category: LogCategoryName, message: string): void {
    const { invocationId, loaded, stream } = this;
    this.#logs.write(stream, { level, category, message, invocationId, source: loaded.category }, this.hookScope);
  }

  /** The result of a run that threw: one that stopped because it was told to is cancelled, not failed. */
  resultOf(thrown: unknown): StatusResultInit {
    const result = failure(thrown);
    const stopped = this.#cancelled !== undefined && thrown instanceof Error && thrown.name === 'AbortError';
    return stopped ? { ...result, status: StatusResultStatus.Cancelled } : result;
  }
}
