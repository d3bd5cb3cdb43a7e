import type { Clock } from '@drover/service-kit';
import { withDeadline } from '../requests.js';
import { NamespaceConnection } from './namespace-connection.js';
import type { NamespaceAddress } from './shared-access.js';

interface NamespaceClientOptions {
  readonly namespace: NamespaceAddress;
  readonly customEndpointAddress?: string | undefined;
  readonly product: string;
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
    const { namespace, customEndpointAddress, product, clock, tryTimeoutMs, uuid } = this.#options;
    const container = (await import('rhea')).default.create_container({ id: `drover-${uuid()}` });
    const customEndpoint =
      customEndpointAddress === undefined ? undefined : endpointOf(customEndpointAddress, namespace.port);
    const opened = new NamespaceConnection({ container, namespace, clock, id: uuid(), customEndpoint, product });
    await withDeadline(clock, tryTimeoutMs, this.#closing.signal, (limited) => opened.open(limited));
    return opened;
  }
}

function endpointOf(address: string, defaultPort: number): { readonly host: string; readonly port: number } {
  const [, host = address, port] = /^(?:\w+:\/\/)?([^/:]+)(?::(\d+))?/.exec(address) ?? [];
  return { host, port: port === undefined ? defaultPort : Number(port) };
}
