import type { Clock } from '@drover/service-kit';
import { socketOpener } from '../client/connection-pool.js';
import { FramedConnection } from './framed-connection.js';

export interface FramedCallsOptions {
  /** Where to connect: protocol, host and port. */
  readonly url: URL;
  /** The target of the request to upgrade. A server that does not know the protocol answers it as any other request. */
  readonly target: string;
  /** Of one answer. */
  readonly maxBodyBytes: number;
  readonly connectTimeoutMs: number;
  readonly clock: Clock;
}

/** After an attempt that the server did not accept. */
const retryMs = 10_000;

/** The connection to one server that all calls share; opened when it is asked for, and again after it was lost. */
export class FramedCalls {
  readonly #options: FramedCallsOptions;
  readonly #open: ReturnType<typeof socketOpener>;
  #latest: FramedConnection | undefined;
  /** Those that answer their last calls are among them. */
  readonly #all = new Set<FramedConnection>();
  #retryAtMs = 0;
  #isRetired = false;

  constructor(options: FramedCallsOptions) {
    this.#options = options;
    this.#open = socketOpener(options.url);
  }

  /** Undefined until `open`, and after the connection was lost. It may not be open yet. */
  get connection(): FramedConnection | undefined {
    return this.#latest;
  }

  /** Begins to open the connection, unless there is one or the server has refused one a short time ago. */
  open(): void {
    const { url, target, clock, maxBodyBytes, connectTimeoutMs } = this.#options;
    if (this.#latest || this.#isRetired || clock.monotonicMs() < this.#retryAtMs) return;
    const connection: FramedConnection = new FramedConnection(this.#open, {
      head: `GET ${target} HTTP/1.1\r\nhost: ${url.host}\r\n`,
      maxBodyBytes,
      connectTimeoutMs,
      clock,
      onUnusable: (wasOpen) => {
        this.#latest = undefined;
        if (!wasOpen) this.#retryAtMs = clock.monotonicMs() + retryMs;
      },
      onClosed: () => this.#all.delete(connection),
    });
    this.#latest = connection;
    this.#all.add(connection);
  }

  /** Opens no more connections; those that are open close after their last answers. */
  retire(): void {
    this.#isRetired = true;
    this.#latest?.retire();
  }

  /** Closes all connections; calls in flight fail. */
  async close(): Promise<void> {
    this.#isRetired = true;
    await Promise.all([...this.#all].map((connection) => connection.destroy()));
  }
}
