import type { Clock } from '@drover/service-kit';
import { withDeadline } from '../requests.js';
import type { NamespaceConnection } from './namespace-connection.js';
import { openNamespace, type NamespaceRequest } from './open-namespace.js';
import type { WarmNamespaces } from './warm-namespaces.js';

interface NamespaceClientOptions extends NamespaceRequest {
  /** Connections that were opened ahead. */
  readonly warm?: WarmNamespaces | undefined;
  readonly clock: Clock;
  /** Time limit for connecting. */
  readonly tryTimeoutMs: number;
  readonly uuid: () => string;
}

/** The connection to a namespace that several links share: opened when it is needed, and again after it was lost. */
export class NamespaceClient {
  readonly #options: NamespaceClientOptions;
  readonly #closing = new AbortController();
  readonly #ending = new Set<Promise<void>>();
  #current: Promise<NamespaceConnection> | undefined;

  constructor(options: NamespaceClientOptions) {
    this.#options = options;
  }

  /** Returns the connection, and opens one if there is none. Concurrent callers share it. */
  connected(): Promise<NamespaceConnection> {
    if (this.#current) return this.#current;
    const opening = this.#open();
    const forget = (): void => {
      if (this.#current === opening) this.#current = undefined;
    };
    opening.then((connection) => connection.lost.then(forget), forget);
    this.#current = opening;
    return opening;
  }

  /** Ends a connection that does not work. The next call of `connected` opens another one. */
  async discard(connection: NamespaceConnection): Promise<void> {
    if (this.#current && (await this.#current.catch(() => undefined)) === connection) this.#current = undefined;
    const ending = connection.close();
    this.#ending.add(ending);
    await ending;
    this.#ending.delete(ending);
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the connection was closed'));
    const connection = await this.#current?.catch(() => undefined);
    await connection?.close();
    await Promise.all(this.#ending);
  }

  async #open(): Promise<NamespaceConnection> {
    const { warm, clock, tryTimeoutMs } = this.#options;
    const open = (limited: AbortSignal): Promise<NamespaceConnection> =>
      openNamespace(this.#options, this.#options, limited);
    return warm?.take(this.#options) ?? (await withDeadline(clock, tryTimeoutMs, this.#closing.signal, open));
  }
}
