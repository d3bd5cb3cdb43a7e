import { connect } from 'node:net';
import { ConnectionPool } from '@drover/http-edge';
import type { Clock } from '@drover/service-kit';
import { Endpoint, type EndpointPolicy } from '../picking/endpoint.js';

export interface CollectionEndpointOptions {
  readonly workerId: string;
  readonly url: URL;
  readonly policy: EndpointPolicy;
  readonly clock: Clock;
  readonly onMove?: (change: { from: string; to: string }) => void;
}

const connectTimeoutMs = 2_000;

/** One collection worker at one address: what is known about its health, and the connections to it. */
export class CollectionEndpoint extends Endpoint {
  readonly url: URL;
  readonly pool: ConnectionPool;
  readonly #clock: Clock;
  /** Routes that name it. */
  references = 0;
  #connecting: Promise<boolean> | undefined;

  constructor({ workerId, url, policy, clock, onMove }: CollectionEndpointOptions) {
    super(workerId, policy, clock.monotonicMs(), onMove);
    this.url = url;
    this.#clock = clock;
    // As many connections as requests in flight: no request waits in line for one.
    this.pool = new ConnectionPool({ url, maxConnections: policy.maxInFlight, connectTimeoutMs, clock });
  }

  /** Whether it accepts connections now. One attempt at a time, whatever the number of callers. */
  acceptsConnections(): Promise<boolean> {
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  #connect(): Promise<boolean> {
    const { hostname, port, protocol } = this.url;
    const defaultPort = protocol === 'https:' ? 443 : 80;
    return new Promise((resolve) => {
      const socket = connect({ host: hostname.replaceAll(/^\[|\]$/g, ''), port: Number(port || defaultPort) });
      const end = (isThere: boolean): void => {
        cancel();
        socket.destroy();
        resolve(isThere);
      };
      const cancel = this.#clock.after(connectTimeoutMs, () => end(false));
      socket.once('connect', () => end(true)).once('error', () => end(false));
    });
  }
}
