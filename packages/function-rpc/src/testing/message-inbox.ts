import type { EventStream } from '../grpc/event-stream.js';
import type { StreamEnd } from '../grpc/break-watch.js';
import type { StreamingMessage, StreamingMessageKind, StreamingMessageOf } from '../generated/streaming-message.js';

/** Records all messages of a stream and lets tests wait for them. */
export class MessageInbox {
  /** All messages in their order. */
  readonly received: StreamingMessage[] = [];
  /** Resolves when the stream has ended. */
  readonly ended: Promise<StreamEnd>;
  readonly #returned = new Set<StreamingMessage>();
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

  /** Returns the first unread message of a kind, or waits for it. Rejects when the stream ends or the time is up. */
  next<K extends StreamingMessageKind>(kind: K, withinMs = 30_000): Promise<StreamingMessageOf<K>> {
    return new Promise((resolve, reject) => {
      const finish = (): void => {
        clearTimeout(timer);
        this.#watchers.delete(look);
      };
      const look = (): void => {
        const found = this.received.find((message) => message.kind === kind && !this.#returned.has(message));
        if (found) {
          finish();
          this.#returned.add(found);
          resolve(found as StreamingMessageOf<K>); // found by its kind
        } else if (this.#end) {
          finish();
          reject(new Error(`the stream ended (${this.#end.reason}) without ${kind}; ${this.#summary()}`));
        }
      };
      const timer = setTimeout(() => {
        finish();
        reject(new Error(`no ${kind} within ${withinMs} ms; ${this.#summary()}`));
      }, withinMs);
      this.#watchers.add(look);
      look();
    });
  }

  #summary(): string {
    return `received: ${this.received.map(({ kind }) => kind ?? 'unknown').join(', ') || 'nothing'}`;
  }

  #wake(): void {
    for (const watcher of this.#watchers) watcher();
  }
}
