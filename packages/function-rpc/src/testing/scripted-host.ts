import type { StreamingMessageInit, StreamingMessageKind, StreamingMessageOf } from '../generated/streaming-message.js';
import type { EventStream } from '../grpc/event-stream.js';
import { defaultMaxMessageBytes } from '../grpc/limits.js';
import { FunctionRpcServer, type FunctionRpcServerOptions } from '../server/function-rpc-server.js';
import { MessageInbox } from './message-inbox.js';

/** A worker that is connected to a scripted host. */
export class AdmittedWorker {
  readonly stream: EventStream;
  readonly inbox: MessageInbox;

  constructor(stream: EventStream) {
    stream.maxMessageBytes = defaultMaxMessageBytes;
    this.stream = stream;
    this.inbox = new MessageInbox(stream);
  }

  send(message: StreamingMessageInit): void {
    this.stream.send(message);
  }

  /** Returns the next message of a kind. */
  next<K extends StreamingMessageKind>(kind: K, withinMs?: number): Promise<StreamingMessageOf<K>> {
    return this.inbox.next(kind, withinMs);
  }

  /** Sends a message and waits for a message of kind `kind`. */
  async request<K extends StreamingMessageKind>(
    message: StreamingMessageInit,
    kind: K,
  ): Promise<StreamingMessageOf<K>> {
    this.send(message);
    return await this.next(kind);
  }
}

/** A host that accepts every worker and is driven by a test, over a real connection. */
export class ScriptedHost {
  readonly url: string;
  readonly server: FunctionRpcServer;
  readonly #arrivals: AdmittedWorker[];
  readonly #watchers: Set<() => void>;

  private constructor(url: string, server: FunctionRpcServer, arrivals: AdmittedWorker[], watchers: Set<() => void>) {
    this.url = url;
    this.server = server;
    this.#arrivals = arrivals;
    this.#watchers = watchers;
  }

  /** Listens on a free loopback port. */
  static async listen(options: Omit<FunctionRpcServerOptions, 'onStream'> = {}): Promise<ScriptedHost> {
    const arrivals: AdmittedWorker[] = [];
    const watchers = new Set<() => void>();
    const onStream = (stream: EventStream): void => {
      arrivals.push(new AdmittedWorker(stream));
      for (const watcher of watchers) watcher();
    };
    const server = new FunctionRpcServer({ ...options, onStream });
    const { port } = await server.listenLoopback();
    return new ScriptedHost(`http://127.0.0.1:${port}`, server, arrivals, watchers);
  }

  /** Returns the next connected worker, or waits for it. */
  worker(withinMs = 30_000): Promise<AdmittedWorker> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const arrival = this.#arrivals.shift();
        if (!arrival) return;
        clearTimeout(timer);
        this.#watchers.delete(look);
        resolve(arrival);
      };
      const timer = setTimeout(() => {
        this.#watchers.delete(look);
        reject(new Error(`no worker connected within ${withinMs} ms`));
      }, withinMs);
      this.#watchers.add(look);
      look();
    });
  }

  /** Ends all streams and the server. */
  async stop(): Promise<void> {
    await this.server.stop();
  }
}
