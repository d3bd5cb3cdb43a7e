import { startWorkerServer, type HandlerContext } from '@drover/isolated-workers';
import type { LocalHostMessages, LocalMessages, LocalWorkerData, RunPayload, RunReply } from '../local-messages.js';
import { LocalCallContext } from './call-context.js';
import { LineLog } from './line-log.js';
import { loadHandler, type Handler, type LoadedHandler } from './load-handler.js';
import { toFailure, toReply } from './to-reply.js';

// The script of a LOCAL worker, bundled with the worker's side of isolated-workers. It serves at once and loads the handler
// with its first call, so that a module that does not load, hangs or exits fails that call with its own message.

type Request = HandlerContext<never, LocalHostMessages>;

/** Any request can call the host; the first one serves all log lines. */
let channel: Request | undefined;
let loading: Promise<LoadedHandler> | undefined;
let handler: Handler | undefined;
/** True until the first call of this worker has been run. */
let isCold = true;

const log = new LineLog((lines) => {
  // Fails only when the host is gone.
  channel?.callHost('lines', lines).catch(() => undefined);
});

function run(payload: RunPayload, request: Request): RunReply | Promise<RunReply> {
  channel ??= request;
  return handler ? call(handler, payload, request, null) : loadAndCall(payload, request);
}

/** Calls that arrive while the module is being loaded wait for it; only the first one reports the cold start. */
async function loadAndCall(payload: RunPayload, request: Request): Promise<RunReply> {
  loading ??= loadHandler(data.file, data.directory);
  const loaded = await loading;
  if ('problem' in loaded) return ['broken', loaded.problem];
  handler = loaded.handler;
  // `performance.now()` counts from the start of the process or thread.
  return call(handler, payload, request, isCold ? performance.now() : null);
}

/** Replies without a promise when the handler returns none: a promise costs more than the rest of a small call. */
function call(
  handle: Handler,
  payload: RunPayload,
  request: Request,
  initMs: number | null,
): RunReply | Promise<RunReply> {
  const [text, isBinary, , , expiresAt] = payload;
  if (Date.now() > expiresAt) return ['late'];
  const context = new LocalCallContext(payload, data.functionName, initMs !== null, { log, request });
  if (initMs !== null) isCold = false;
  let result: unknown;
  try {
    const input: unknown = JSON.parse(text);
    result = handle(isBinary ? Buffer.from(String(input), 'base64') : input, context);
  } catch (error) {
    return toFailure(error);
  }
  if (!isThenable(result)) return toReply(result, LocalCallContext.extras(context, initMs), data.maxOutputBytes);
  return Promise.resolve(result).then(
    (value) => toReply(value, LocalCallContext.extras(context, initMs), data.maxOutputBytes),
    toFailure,
  );
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

const server = await startWorkerServer<LocalMessages, LocalHostMessages>({ run });
const data = server.workerData as LocalWorkerData; // given by the pool of this function

Object.assign(console, log.loggerOf(null));
