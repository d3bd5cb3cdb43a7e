import { startWorkerServer, type HandlerContext } from 'isolated-workers';
import type { LocalHostMessages, LocalMessages, LocalWorkerData, RunPayload, RunReply } from '../local-messages.js';
import { CallContext } from './call-context.js';
import { LineLog } from './line-log.js';
import { loadHandler, type Handler, type LoadedHandler } from './load-handler.js';
import { toFailure, toReply } from './to-reply.js';

// The script of a LOCAL worker; bundled with only the worker's side of isolated-workers. It begins to serve at once and loads the handler with its first call, so that a module that
// does not load, hangs or dies is that call's failure and is told in its own words.

type Channel = HandlerContext<never, LocalHostMessages>;

const running = new Map<number, CallContext>();
let channel: Channel | undefined;
let loading: Promise<LoadedHandler> | undefined;
let handler: Handler | undefined;
/** Of this process, until its first call has been answered. */
let isCold = true;

const log = new LineLog((lines) => {
  // Nobody waits for it; it fails only when the host is gone.
  channel?.callHost('lines', lines).catch(() => undefined);
});

function run(payload: RunPayload, through: Channel): RunReply | Promise<RunReply> {
  channel ??= through;
  return handler ? call(handler, payload, null) : first(payload);
}

/** Calls that come while the module is being loaded wait for it; only one of them brings the news of the cold start. */
async function first(payload: RunPayload): Promise<RunReply> {
  loading ??= loadHandler(data.file, data.directory);
  const loaded = await loading;
  if ('problem' in loaded) return ['broken', loaded.problem];
  handler = loaded.handler;
  // Measured from the start of the process.
  return call(handler, payload, isCold ? performance.now() : null);
}

/** A handler that answers at once is answered for at once. */
function call(handle: Handler, payload: RunPayload, initMs: number | null): RunReply | Promise<RunReply> {
  const [number, text, isBinary, , , expiresAt] = payload;
  if (Date.now() > expiresAt) return ['late'];
  const context = new CallContext(payload, data.functionName, initMs !== null, log);
  if (initMs !== null) isCold = false;
  let result: unknown;
  try {
    const input: unknown = JSON.parse(text);
    result = handle(isBinary ? Buffer.from(String(input), 'base64') : input, context);
  } catch (error) {
    return toFailure(error);
  }
  if (!isThenable(result)) return toReply(result, CallContext.extras(context, initMs), data.maxOutputBytes);
  running.set(number, context);
  return Promise.resolve(result).then(
    (value) => {
      running.delete(number);
      return toReply(value, CallContext.extras(context, initMs), data.maxOutputBytes);
    },
    (error: unknown) => {
      running.delete(number);
      return toFailure(error);
    },
  );
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

const server = await startWorkerServer<LocalMessages, LocalHostMessages>({
  run,
  cancel: (number) => CallContext.abort(running.get(number)),
});
const data = server.workerData as LocalWorkerData; // what the pool of this function gives

Object.assign(console, log.loggerOf(null));
