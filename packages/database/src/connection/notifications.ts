import type { Lifecycle } from '@drover/service-kit';
import type { Database } from './database.js';
import type { DedicatedConnection } from './dedicated-connection.js';
import type { Queryable } from './statement.js';

/** Called with the payload of a notification, or with undefined when notifications may have been missed. */
export type NotificationHandler = (payload: string | undefined) => void;

/**
 * Listens on one connection to any number of channels. A notification is only a hint: after every reconnect each handler is
 * called once with undefined and must read the current state.
 */
export class Notifications implements Lifecycle {
  readonly name = 'notifications';
  readonly #connection: DedicatedConnection;
  readonly #handlers = new Map<string, Set<NotificationHandler>>();
  /** Channels that the current connection listens to. */
  readonly #listening = new Set<string>();

  constructor(database: Database) {
    this.#connection = database.dedicatedConnection('notifications');
    this.#connection.onNotification((channel, payload) => {
      for (const handler of this.#handlers.get(channel) ?? []) handler(payload);
    });
    this.#connection.onConnected(
      async (connection) => {
        this.#listening.clear();
        for (const channel of this.#handlers.keys()) await this.#listenOn(connection, channel);
      },
      () => {
        // Handlers that were added during the set-up, too late for the loop above.
        for (const channel of this.#handlers.keys()) this.#listenOn(this.#connection, channel).catch(() => undefined);
        for (const handler of [...this.#handlers.values()].flatMap((set) => [...set])) handler(undefined);
      },
    );
  }

  get connected(): boolean {
    return this.#connection.connected;
  }

  start(signal?: AbortSignal): Promise<void> {
    return this.#connection.start(signal);
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return this.#connection.stop();
  }

  /** Listens from now on, across reconnects. Call the returned function to stop. */
  async listen(channel: string, handler: NotificationHandler): Promise<() => void> {
    const handlers = this.#handlers.get(channel) ?? new Set();
    this.#handlers.set(channel, handlers.add(handler));
    // Without a connection there is nothing to do: the next one listens to all channels.
    if (this.connected) await this.#listenOn(this.#connection, channel).catch(() => undefined);
    return () => {
      handlers.delete(handler);
      if (handlers.size > 0 || this.#handlers.get(channel) !== handlers) return;
      this.#handlers.delete(channel);
      this.#listening.delete(channel);
      if (this.connected) this.#connection.query(`unlisten ${quoteIdentifier(channel)}`).catch(() => undefined);
    };
  }

  async #listenOn(connection: Queryable, channel: string): Promise<void> {
    if (this.#listening.has(channel)) return;
    this.#listening.add(channel);
    await connection.query(`listen ${quoteIdentifier(channel)}`);
  }
}

function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
