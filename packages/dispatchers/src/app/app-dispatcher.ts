import { runtimeCallPath, runtimeCalls, type RuntimeCallHead, type TenantId } from '@drover/contracts';
import type { FunctionDefinition } from '../function-definition.js';
import type { Attempt, AttemptResult, Dispatcher } from '../dispatcher.js';
import { ClientFault, headerLine, type ClientRequest } from '@drover/http-edge';
import type { RuntimeCallFailure } from './runtime-call.js';
import type { RuntimeConnection, RuntimeEndpoint } from './runtime-connection.js';
import { failed, functionMissing, readRuntimeAnswer, toAttemptResult } from './runtime-protocol.js';

export interface AppDispatcherOptions {
  readonly connection: RuntimeConnection;
  /** Functions of deployed applications, for definitions that name no application. */
  readonly discovered: {
    find(tenantId: TenantId, name: string): FunctionDefinition | undefined;
    /** True once the runtime has listed its functions. */
    readonly isKnown: boolean;
  };
}

/** Runs attempts on function workers of deployed applications, through the runtime that serves them. */
export class AppDispatcher implements Dispatcher {
  readonly name = 'app dispatcher';
  readonly mode = 'APP';
  readonly #options: AppDispatcherOptions;
  /** Definitions are immutable, so a path is built once for each. */
  readonly #paths = new WeakMap<FunctionDefinition, string>();
  #inFlight = 0;
  #onIdle: (() => void) | undefined;

  constructor(options: AppDispatcherOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {}

  /** Does not refuse new attempts: the engine stops dispatching first. */
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
    const request = requestOf(attempt, endpoint, path);
    if (!request) return Promise.resolve(unwritable);
    this.#inFlight += 1;
    return new Promise((resolve) => {
      const call = endpoint.call(request, (end) => {
        this.#inFlight -= 1;
        if (this.#inFlight === 0) this.#onIdle?.();
        resolve('status' in end ? toAttemptResult(readRuntimeAnswer(end)) : this.#explain(end));
      });
      attempt.onAbandoned(() => call.abandon());
    });
  }

  #pathOf(definition: FunctionDefinition): string | AttemptResult {
    const known = this.#paths.get(definition);
    if (known !== undefined) return known;
    const { discovered } = this.#options;
    const { tenantId, name, appFunction = { name } } = definition;
    if (appFunction.application === undefined) {
      // Not cached: the application that has the function may change.
      const one = discovered.find(tenantId, appFunction.name);
      if (one?.appFunction?.application !== undefined) return this.#pathOf(one);
      return discovered.isKnown ? functionMissing(`no application has a function ${appFunction.name}`) : unavailable;
    }
    // Always the tenant of the definition, so that no tenant reaches an application of another.
    const path = runtimeCallPath(tenantId, appFunction.application, appFunction.name);
    this.#paths.set(definition, path);
    return path;
  }

  #explain({ error, wasSent }: RuntimeCallFailure): AttemptResult {
    if (error instanceof ClientFault && error.code === 'ANSWER_BODY_TOO_LARGE')
      return failed('APP_ERROR', 'the function returned more than can be passed on', false);
    this.#options.connection.doubt();
    return wasSent ? unavailable : absent;
  }
}

/** The pause that the runtime itself asks for while it is unavailable; a restart takes a few of these. */
const awayMs = 1_000;
const unavailable: Extract<AttemptResult, { kind: 'failed' }> = failed(
  'APP_UNAVAILABLE',
  'the runtime cannot be reached at the moment, or went away',
  true,
  awayMs,
);
/** There was no connection: the function has not seen the call, nor would it see others. */
const absent: AttemptResult = { ...unavailable, wasNotTried: true, queuePauseMs: awayMs };

const unwritable: AttemptResult = failed('APP_ERROR', 'the call cannot be written as a request', false);

/** Returns the request of an attempt; undefined if a header of it cannot be written. */
function requestOf(attempt: Attempt, endpoint: RuntimeEndpoint, path: string): ClientRequest | undefined {
  try {
    return toRequest(attempt, endpoint.head('POST', path));
  } catch {
    return undefined;
  }
}

function toRequest({ accepted, number, timeoutMs }: Attempt, begin: string): ClientRequest {
  const { payload, metadata, headers: given, executionId, traceId, traceparent, tracestate } = accepted;
  let head =
    begin +
    headerLine(runtimeCalls.executionIdHeader, executionId) +
    headerLine(runtimeCalls.attemptHeader, String(number)) +
    headerLine(runtimeCalls.timeoutHeader, String(Math.ceil(timeoutMs)));
  head += lineIfPrintable(runtimeCalls.traceIdHeader, traceId);
  head += lineIfPrintable('traceparent', traceparent);
  head += lineIfPrintable('tracestate', tracestate);
  const about = metadata || given ? JSON.stringify({ metadata, headers: given } satisfies RuntimeCallHead) : '';
  if (about !== '') head += headerLine(runtimeCalls.headBytesHeader, String(Buffer.byteLength(about)));
  if (payload.encoding === undefined)
    return { head: `${head}content-type: application/json\r\n`, body: about + payload.json };
  // Checked when the call was accepted: a JSON string.
  const bytes = Buffer.from(JSON.parse(payload.json) as string, 'base64');
  return {
    head: head + headerLine('content-type', runtimeCalls.bytesType),
    body: Buffer.concat([Buffer.from(about), bytes]),
  };
}

/** Values of callers that do not fit into a header are left out: they must not fail a call that is good otherwise. */
function lineIfPrintable(name: string, value: string | undefined): string {
  return value !== undefined && printable.test(value) ? `${name}: ${value}\r\n` : '';
}

const printable = /^[\x20-\x7e]{1,512}$/;
