import { runtimeCallPath, runtimeCalls, type RuntimeCallHead, type TenantId } from '@drover/contracts';
import type { FunctionDefinition } from '../function-definition.js';
import type { Attempt, AttemptResult, Dispatcher } from '../dispatcher.js';
import { RuntimeCall } from './runtime-call.js';
import type { RuntimeConnection } from './runtime-connection.js';
import { failed, toAttemptResult } from './runtime-protocol.js';

export interface AppDispatcherOptions {
  readonly connection: RuntimeConnection;
  /** Functions of applications, for those that name no application. */
  readonly discovered: {
    find(tenantId: TenantId, name: string): FunctionDefinition | undefined;
    /** Whether anybody has said yet which ones there are. */
    readonly isKnown: boolean;
  };
}

/** Runs attempts on function workers of deployed applications, through the runtime that serves them. */
export class AppDispatcher implements Dispatcher {
  readonly name = 'app dispatcher';
  readonly mode = 'APP';
  readonly #options: AppDispatcherOptions;
  /** A definition never changes, and neither does its address. */
  readonly #paths = new WeakMap<FunctionDefinition, string>();
  #inFlight = 0;
  #onIdle: (() => void) | undefined;

  constructor(options: AppDispatcherOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {}

  /** Whoever dispatches stops first: only what is on its way is waited for. */
  async drain(deadline: AbortSignal): Promise<void> {
    if (this.#inFlight === 0 || deadline.aborted) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      deadline.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  async stop(): Promise<void> {}

  dispatch(attempt: Attempt): Promise<AttemptResult> {
    const { connection } = this.#options;
    const path = this.#pathOf(attempt.definition);
    if (typeof path !== 'string') return Promise.resolve(path);
    const endpoint = connection.endpoint();
    if (!endpoint)
      return Promise.resolve(
        connection.isConfigured
          ? absent
          : failed('APP_UNAVAILABLE', 'there is no runtime: set DROVER_RUNTIME_URL', false),
      );
    this.#inFlight += 1;
    return new Promise((resolve) => {
      const call = new RuntimeCall((answer) => {
        this.#inFlight -= 1;
        if (this.#inFlight === 0) this.#onIdle?.();
        resolve(answer instanceof Error ? this.#explain(answer) : toAttemptResult(answer));
      });
      attempt.onAbandoned(() => call.abandon());
      const headers = [...connection.credentials];
      const body = frame(attempt, headers);
      endpoint.pool.dispatch({ method: 'POST', path: endpoint.basePath + path, headers, body }, call);
    });
  }

  #pathOf(definition: FunctionDefinition): string | AttemptResult {
    const known = this.#paths.get(definition);
    if (known !== undefined) return known;
    const { discovered } = this.#options;
    const { tenantId, name, appFunction = { name } } = definition;
    if (appFunction.application === undefined) {
      // Which application has it may change, so this is asked every time.
      const one = discovered.find(tenantId, appFunction.name);
      if (one?.appFunction?.application !== undefined) return this.#pathOf(one);
      return discovered.isKnown
        ? failed('APP_FUNCTION_MISSING', `no application has a function ${appFunction.name}`, false)
        : unavailable;
    }
    // The tenant is its own, never one that it names: nobody reaches another's application.
    const path = runtimeCallPath(tenantId, appFunction.application, appFunction.name);
    this.#paths.set(definition, path);
    return path;
  }

  #explain(error: Error): AttemptResult {
    const code = 'code' in error ? String(error.code) : '';
    if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE')
      return failed('APP_ERROR', 'the function returned more than can be passed on', false);
    if (code === 'UND_ERR_INVALID_ARG') return failed('APP_ERROR', 'the call cannot be written as a request', false);
    this.#options.connection.doubt();
    return neverConnected.has(code) ? absent : unavailable;
  }
}

const neverConnected = new Set(['ECONNREFUSED', 'ENOENT', 'UND_ERR_CONNECT_TIMEOUT']);

/** As long as the runtime itself says for what it cannot do at the moment; one that is started again takes a few of these. */
const awayMs = 1_000;
const unavailable: Extract<AttemptResult, { kind: 'failed' }> = failed(
  'APP_UNAVAILABLE',
  'the runtime cannot be reached at the moment, or went away',
  true,
  awayMs,
);
/** Nobody there at all: the function has not seen the call. */
const absent: AttemptResult = { ...unavailable, wasNotTried: true };

/** The body of a call; adds to the headers, which are names and values in turn. */
function frame({ accepted, number, timeoutMs }: Attempt, headers: string[]): string | Buffer {
  const { payload, metadata, headers: given, executionId, traceId, traceparent, tracestate } = accepted;
  headers.push(
    runtimeCalls.executionIdHeader,
    executionId,
    runtimeCalls.attemptHeader,
    String(number),
    runtimeCalls.timeoutHeader,
    String(Math.ceil(timeoutMs)),
  );
  if (traceId !== undefined && printable.test(traceId)) headers.push(runtimeCalls.traceIdHeader, traceId);
  if (traceparent !== undefined && printable.test(traceparent)) headers.push('traceparent', traceparent);
  if (tracestate !== undefined && printable.test(tracestate)) headers.push('tracestate', tracestate);
  const head = metadata || given ? JSON.stringify({ metadata, headers: given } satisfies RuntimeCallHead) : '';
  if (head !== '') headers.push(runtimeCalls.headBytesHeader, String(Buffer.byteLength(head)));
  if (payload.encoding === undefined) {
    headers.push('content-type', 'application/json');
    return head + payload.json;
  }
  headers.push('content-type', runtimeCalls.bytesType);
  // Checked at the edge: a JSON text.
  return Buffer.concat([Buffer.from(head), Buffer.from(JSON.parse(payload.json) as string, 'base64')]);
}

/** What a header may hold, and nobody wants more of. */
const printable = /^[\x20-\x7e]{1,512}$/;
