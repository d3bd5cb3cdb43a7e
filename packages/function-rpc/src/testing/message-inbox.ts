import type { EventStream } from '../grpc/event-stream.js';
import type { StreamEnd } from '../grpc/stream-end.js';
import type { StreamingMessage, StreamingMessageKind, StreamingMessageOf } from '../generated/streaming-message.js';

/** Everything that comes in on a stream, and a way to wait for it. */
export class MessageInbox {
  /** All messages, in their order. */
  readonly received: StreamingMessage[] = [];
  /** Resolves when the stream is over. */
  readonly ended: Promise<StreamEnd>;
  readonly #taken = new Set<StreamingMessage>();
  readonly #watchers = new Set<() => void>();
  #end: StreamEnd | undefined;

  constructor(stream: EventStream, onMessage: (message: StreamingMessage) => void = () => undefined) {
    this.ended = new Promise((resolve) => {
      stream.start({
        onMessage: (message) => {
          this.received.push(message);
          onMessage(message);
          this.#wake();
        },
        onEnd: (end) => {
          this.#end = end;
          this.#wake();
          resolve(end);
        },
      });
    });
  }

  /** The next message of that kind that nobody has taken, past or future; fails when the stream ends or time runs out. */
  next<K extends StreamingMessageKind>(kind: K, withinMs = 10_000): Promise<StreamingMessageOf<K>> {
    return new Promise((resolve, reject) => {
      const finish = (): void => {
        clearTimeout(timer);
        this.#watchers.delete(look);
      };
      const look = (): void => {
        const found = this.received.find((message) => message.kind === kind && !this.#taken.has(message));
        if (found) {
          finish();
          this.#taken.add(found);
          resolve(found as StreamingMessageOf<K>); // it was found by its kind
        } else if (this.#end) {
          finish();
          reject(new Error(`the stream ended (${this.#end.reason}) without ${kind}; ${this.#story()}`));
        }
      };
      const timer = setTimeout(() => {
        finish();
        reject(new Error(`no ${kind} within ${withinMs} ms; ${this.#story()}`));
      }, withinMs);
      this.#watchers.add(look);
      look();
    });
  }

  #story(): string {
    return `it brought: ${this.received.map(({ kind }) => kind ?? 'unknown').join(', ') || 'nothing'}`;
  }

  #wake(): void {
    for (const watcher of this.#watchers) watcher();
  }
}
