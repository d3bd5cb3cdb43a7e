import type { Handlers, MessageDef, MessageDefs, Middleware } from '../../types/messages.js';
import type { WorkerServer, WorkerServerOptions } from '../../types/server.js';
import { UnknownMessageError, UnsupportedOptionError, WorkerClosedError } from '../../types/errors.js';
import { IdMap } from '../id-map.js';
import { applyMiddleware } from '../middleware.js';
import { expectServerOptions } from '../options/server-options.js';
import { fromErrorData, sendError } from '../wire/error-data.js';
import { kind, type RequestMessage, type ToWorker } from '../../types/wire-message.js';
import { readWorkerLaunch, type WorkerLaunch } from './worker-launch.js';
import { RequestContext, type HostChannel } from './request-context.js';
import { sendStream } from './send-stream.js';
import type { WorkerTransport } from './transport.js';

/** Serves messages with these handlers. Call it once in the worker's script. Resolves when the host has been notified. */
export async function startWorkerServer<
  Defs extends MessageDefs<Defs>,
  HostDefs extends MessageDefs<HostDefs> = Record<never, MessageDef>,
>(handlers: Handlers<Defs, HostDefs>, options: WorkerServerOptions = {}): Promise<WorkerServer> {
  expectServerOptions(handlers, options);
  return new Server(handlers as AnyHandlers, options, readWorkerLaunch());
}

type AnyHandlers = Readonly<Record<string, (payload: unknown, context: unknown) => unknown>>;

class Server implements WorkerServer {
  readonly workerData: unknown;
  readonly #handlers: AnyHandlers;
  readonly #options: WorkerServerOptions;
  readonly #transport: WorkerTransport;
  readonly #running = new IdMap<RequestContext>();
  readonly #hostCalls = new Map<
    number,
    { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void }
  >();
  readonly #host: HostChannel = {
    progress: (id, progress) => this.#transport.send([kind.progress, id, progress]),
    callHost: (type, payload) => this.#callHost(type, payload),
  };
  #nextHostCall = 1;
  #closing: Promise<void> | undefined;

  constructor(handlers: AnyHandlers, options: WorkerServerOptions, launch: WorkerLaunch) {
    this.#handlers = handlers;
    this.#options = options;
    const events = { onMessage: (message: ToWorker) => this.#receive(message), onClosed: () => void this.stop() };
    const transport = launch.open(options.serializer, events);
    this.#transport = transport;
    this.workerData = launch.workerData;
    const own = options.serializer?.name ?? null;
    if (launch.serializer !== own) {
      const problem = `The host uses serializer ${launch.serializer ?? 'none'} and this worker ${own ?? 'none'}. Use the same on both sides.`;
      sendError(new UnsupportedOptionError(problem), (data) => transport.send([kind.startupFailed, data]));
      transport.exit(1);
      return;
    }
    transport.send([kind.ready]);
  }

  get isRunning(): boolean {
    return this.#closing === undefined;
  }

  stop(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  #receive(message: ToWorker): void {
    switch (message[0]) {
      case kind.request:
        return this.#answer(message);
      case kind.cancel:
        RequestContext.abort(
          this.#running.get(message[1]),
          new DOMException('The caller cancelled the request.', 'AbortError'),
        );
        this.#transport.send([kind.cancelled, message[1]]);
        return this.#transport.flush(); // the next message may block for longer than the host waits for this one
      case kind.credit:
        return RequestContext.credit(this.#running.get(message[1]))?.add(message[2]);
      case kind.hostResult:
        return this.#settleHostCall(message[1], (call) => call.resolve(message[2]));
      case kind.hostError:
        return this.#settleHostCall(message[1], (call) => call.reject(fromErrorData(message[2])));
      case kind.close:
        return void this.stop();
      case kind.probe:
        return this.#transport.send([kind.sample, process.memoryUsage.rss()]);
    }
  }

  /** Responds synchronously to a handler that returns a value: a promise would cost more than the rest of a small request. */
  #answer(message: RequestMessage): void {
    const id = message[1];
    this.#recordStart(id);
    const context = new RequestContext(id, message[3], this.#host);
    let result: unknown;
    let isPending: boolean;
    try {
      result = this.#run(id, message[2], message[4], context);
      isPending = isThenable(result); // throws for a revoked proxy and for some getters, as `await` would
    } catch (error) {
      return this.#fail(id, error);
    }
    if (!isPending) return this.#succeed(id, result);
    this.#running.add(id, context);
    Promise.resolve(result).then(
      (value) => this.#succeed(id, value),
      (error: unknown) => this.#fail(id, error),
    );
  }

  #run(id: number, type: string, sent: unknown, context: RequestContext): unknown {
    if (!Object.hasOwn(this.#handlers, type)) {
      throw new UnknownMessageError(
        `The worker has no handler '${type}'. It has: ${Object.keys(this.#handlers).join(', ') || 'none'}.`,
      );
    }
    const { middleware } = this.#options;
    if (!middleware || middleware.length === 0) return this.#handle(id, type, sent, context);
    return this.#runBetween(middleware, id, type, sent, (payload) => this.#handle(id, type, payload, context));
  }

  async #runBetween(
    middleware: readonly Middleware[],
    tx: number,
    type: string,
    sent: unknown,
    handle: (payload: unknown) => unknown,
  ): Promise<unknown> {
    const payload = await applyMiddleware(middleware, { direction: 'incoming', type, tx, value: sent });
    const value = await handle(payload);
    return applyMiddleware(middleware.toReversed(), { direction: 'outgoing', type, tx, value });
  }

  #handle(id: number, type: string, payload: unknown, context: RequestContext): unknown {
    const result = this.#handlers[type]?.(payload, context);
    const credit = RequestContext.credit(context);
    if (!credit) return result;
    return sendStream(result, credit, context.signal, (item) =>
      this.#transport.send([kind.item, id, item], transferOf(item)),
    );
  }

  #succeed(id: number, result: unknown): void {
    try {
      this.#transport.send(result === undefined ? [kind.result, id] : [kind.result, id, result], transferOf(result));
    } catch (error) {
      return this.#fail(id, error);
    }
    this.#running.delete(id);
  }

  #fail(id: number, thrown: unknown): void {
    this.#running.delete(id);
    sendError(thrown, (data) => this.#transport.send([kind.error, id, data]));
  }

  /**
   * Records the start of a request in the journal, which the host reads after a crash. A request that runs alone is the only
   * unanswered one and needs no entry. An entry costs a process a system call, so it is written only while another request
   * runs or a response may still be lost.
   */
  #recordStart(id: number): void {
    if (this.#running.size > 0 || !this.#transport.isFlushed) this.#transport.recordStart(id);
  }

  #callHost(type: string, payload: unknown): Promise<unknown> {
    if (this.#closing) return Promise.reject(new WorkerClosedError());
    const id = this.#nextHostCall++;
    return new Promise((resolve, reject) => {
      this.#transport.send(payload === undefined ? [kind.hostCall, id, type] : [kind.hostCall, id, type, payload]);
      this.#hostCalls.set(id, { resolve, reject });
    });
  }

  #settleHostCall(
    id: number,
    settle: (call: { resolve: (value: unknown) => void; reject: (error: Error) => void }) => void,
  ): void {
    const call = this.#hostCalls.get(id);
    this.#hostCalls.delete(id);
    if (call) settle(call);
  }

  async #close(): Promise<void> {
    const closed = new WorkerClosedError();
    for (const context of this.#running.toSorted()) RequestContext.abort(context, closed);
    for (const { reject } of this.#hostCalls.values()) reject(closed);
    this.#hostCalls.clear();
    try {
      await this.#options.onClose?.();
    } finally {
      this.#transport.exit(0);
    }
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/** Shared by the process: this library may be loaded twice, complete and as the worker bundle. */
const key = Symbol.for('isolated-workers.transfers');
const shared = globalThis as { [key]?: WeakMap<object, readonly ArrayBuffer[]> };
const transfers = (shared[key] ??= new WeakMap());

/** Marks buffers of a result for transfer. Drivers without the capability copy them. */
export function transfer<T extends object>(value: T, buffers: readonly ArrayBuffer[]): T {
  transfers.set(value, buffers);
  return value;
}

function transferOf(value: unknown): readonly ArrayBuffer[] | undefined {
  return typeof value === 'object' && value !== null ? transfers.get(value) : undefined;
}
