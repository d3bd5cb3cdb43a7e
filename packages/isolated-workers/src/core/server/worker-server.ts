import { isMainThread, workerData } from 'node:worker_threads';
import type { Handlers, MessageDef, MessageDefs } from '../../types/messages.js';
import type { Middleware } from '../../types/middleware.js';
import type { Serializer } from '../../types/serializer.js';
import { UnknownMessageError, UnsupportedOptionError, WorkerClosedError } from '../../types/errors.js';
import { processVariable } from '../drivers/child-process/host.js';
import { threadDataKey } from '../drivers/worker-threads/host.js';
import { applyMiddleware } from '../middleware.js';
import { sendError } from '../send-error.js';
import { fromErrorData } from '../wire/error-data.js';
import { kind, type RequestMessage, type ToHost, type ToWorker } from '../wire/wire-message.js';
import { processTransport } from './process-transport.js';
import { sendStream, StreamCredit } from './send-stream.js';
import { threadTransport } from './thread-transport.js';
import { transferOf } from './transfer.js';
import type { TransportEvents, WorkerTransport } from './transport.js';

export interface WorkerServerOptions {
  readonly middleware?: readonly Middleware[];
  /** The same as the host's. */
  readonly serializer?: Serializer;
  /** Runs when the worker was asked to close, before it ends. */
  readonly onClose?: () => void | Promise<void>;
}

export interface WorkerServer {
  readonly isRunning: boolean;
  /** What the host gave as `workerData`. */
  readonly workerData: unknown;
  /** Ends this worker from the inside: requests in hand are aborted. */
  stop(): Promise<void>;
}

/** Answers messages with these handlers: call it once in the worker's script. Resolves when the host knows. */
export async function startWorkerServer<
  Defs extends MessageDefs<Defs>,
  HostDefs extends MessageDefs<HostDefs> = Record<never, MessageDef>,
>(handlers: Handlers<Defs, HostDefs>, options: WorkerServerOptions = {}): Promise<WorkerServer> {
  return new Server(handlers as AnyHandlers, options);
}

type AnyHandlers = Readonly<Record<string, (payload: unknown, context: unknown) => unknown>>;

interface Birth {
  readonly serializer: string | null;
  readonly workerData: unknown;
}

/** A request in hand. What aborts it is made when somebody asks for it: most handlers never do, and it is dear. */
class Running {
  readonly credit: StreamCredit | undefined;
  #abort: AbortController | undefined;

  constructor(credit: number) {
    this.credit = credit > 0 ? new StreamCredit(credit) : undefined;
  }

  get signal(): AbortSignal {
    return (this.#abort ??= new AbortController()).signal;
  }

  abort(reason: unknown): void {
    (this.#abort ??= new AbortController()).abort(reason);
  }
}

/** What a handler gets beside its payload. */
class Context {
  readonly attempt: number;
  readonly traceparent: string | undefined;
  readonly progress: (progress: unknown) => void;
  readonly callHost: (type: string, payload?: unknown) => Promise<unknown>;
  readonly #running: Running;

  constructor(
    running: Running,
    { attempt, traceparent, progress, callHost }: Pick<Context, 'attempt' | 'traceparent' | 'progress' | 'callHost'>,
  ) {
    this.#running = running;
    this.attempt = attempt;
    this.traceparent = traceparent;
    this.progress = progress;
    this.callHost = callHost;
  }

  get signal(): AbortSignal {
    return this.#running.signal;
  }
}

class Server implements WorkerServer {
  readonly workerData: unknown;
  readonly #handlers: AnyHandlers;
  readonly #options: WorkerServerOptions;
  readonly #transport: WorkerTransport;
  readonly #running = new Map<number, Running>();
  readonly #hostCalls = new Map<
    number,
    { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void }
  >();
  #nextHostCall = 1;
  #unnoted: number | undefined;
  #closing: Promise<void> | undefined;

  constructor(handlers: AnyHandlers, options: WorkerServerOptions) {
    this.#handlers = handlers;
    this.#options = options;
    const events = { onMessage: (message: ToWorker) => this.#receive(message), onClosed: () => void this.stop() };
    const { birth, transport } = openTransport(options.serializer, events);
    this.#transport = transport;
    this.workerData = birth.workerData;
    const own = options.serializer?.name ?? null;
    if (birth.serializer !== own) {
      const problem = `the host uses serializer ${birth.serializer ?? 'none'} and this worker ${own ?? 'none'}; give both the same`;
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
        return this.#running.get(message[1])?.abort(new DOMException('the caller gave up', 'AbortError'));
      case kind.credit:
        return this.#running.get(message[1])?.credit?.add(message[2]);
      case kind.hostResult:
        return this.#settleHostCall(message[1], (call) => call.resolve(message[2]));
      case kind.hostError:
        return this.#settleHostCall(message[1], (call) => call.reject(fromErrorData(message[2])));
      case kind.close:
        return void this.stop();
    }
  }

  /** A handler that answers at once is answered for at once: a promise would cost more than all the rest. */
  #answer(message: RequestMessage): void {
    const id = message[1];
    this.#noteStart(id);
    const running = new Running(message[5]);
    this.#running.set(id, running);
    let result: unknown;
    try {
      result = this.#run(message, running);
    } catch (error) {
      return this.#fail(id, error);
    }
    if (!isThenable(result)) return this.#succeed(id, result);
    Promise.resolve(result).then(
      (value) => this.#succeed(id, value),
      (error: unknown) => this.#fail(id, error),
    );
  }

  #run([, id, type, attempt, traceparent, , sent]: RequestMessage, running: Running): unknown {
    if (!Object.hasOwn(this.#handlers, type)) {
      throw new UnknownMessageError(
        `there is no handler '${type}'; there are ${Object.keys(this.#handlers).join(', ') || 'none'}`,
      );
    }
    const context = new Context(running, {
      attempt,
      traceparent: traceparent ?? undefined,
      progress: (progress) => this.#reply([kind.progress, id, progress]),
      callHost: (name, value) => this.#callHost(name, value),
    });
    const middleware = this.#options.middleware ?? [];
    if (middleware.length === 0) return this.#handle(id, type, sent, running, context);
    return this.#runBetween(middleware, id, type, sent, (payload) => this.#handle(id, type, payload, running, context));
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

  #handle(id: number, type: string, payload: unknown, running: Running, context: Context): unknown {
    const result = this.#handlers[type]?.(payload, context);
    if (!running.credit) return result;
    return sendStream(result, running.credit, running.signal, (item) =>
      this.#reply([kind.item, id, item], transferOf(item)),
    );
  }

  #succeed(id: number, result: unknown): void {
    try {
      this.#reply(result === undefined ? [kind.result, id] : [kind.result, id, result], transferOf(result));
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
   * Whoever has to find out what killed us reads these notes. A request that runs alone needs none: it is the only one the
   * host has no answer to, so it is the suspect. The note costs processes a system call, so it is made when a second one
   * begins while the first runs or its answer may still be lost with us, for both.
   */
  #noteStart(id: number): void {
    if (this.#running.size === 0 && this.#transport.isFlushed) {
      this.#unnoted = id;
      return;
    }
    if (this.#unnoted !== undefined) this.#transport.noteStart(this.#unnoted);
    this.#unnoted = undefined;
    this.#transport.noteStart(id);
  }

  #reply(message: ToHost, transferred?: readonly ArrayBuffer[]): void {
    this.#transport.send(message, transferred);
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
    for (const running of this.#running.values()) running.abort(closed);
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

function openTransport(
  serializer: Serializer | undefined,
  events: TransportEvents,
): { readonly birth: Birth; readonly transport: WorkerTransport } {
  if (!isMainThread) {
    const birth = (workerData as Record<string, unknown> | null)?.[threadDataKey] as
      | (Birth & { journal: SharedArrayBuffer })
      | undefined;
    if (birth) return { birth, transport: threadTransport({ serializer, journal: birth.journal }, events) };
  }
  const told = process.env[processVariable];
  if (told === undefined) {
    throw new UnsupportedOptionError(
      'startWorkerServer only works in a worker: name this script in createWorker instead of running it',
    );
  }
  delete process.env[processVariable]; // its own children are no workers of ours
  const birth = JSON.parse(told) as Birth & { maxFrameBytes: number };
  return { birth, transport: processTransport({ serializer, maxFrameBytes: birth.maxFrameBytes }, events) };
}
