import { connect } from 'node:net';
import { ConnectionPool, requestHead } from '@drover/http-edge';
import type { Clock } from '@drover/service-kit';
import { Endpoint, type EndpointPolicy, type RequestOutcome } from '../picking/endpoint.js';

export interface CollectionEndpointOptions {
  readonly workerId: string;
  readonly url: URL;
  /** Returns its Unix socket if it is on this machine. */
  readonly localSocket?: () => string | undefined;
  readonly policy: EndpointPolicy;
  readonly clock: Clock;
  /** Called whenever a call begins. */
  readonly onBusy: (endpoint: CollectionEndpoint) => void;
  readonly onMove?: (endpoint: CollectionEndpoint, change: { readonly from: string; readonly to: string }) => void;
}

/** A call that waits for the answer of an endpoint, or receives it. */
export interface CarriedCall {
  /** When it was sent first. */
  readonly sinceMs: number;
  /** Its answer has begun. */
  readonly hasBegun: boolean;
  /** The endpoint hangs: the call leaves it if another endpoint may have it. */
  leaveHung(): void;
  /** Gives the call up: its time is over. */
  timeOut(): void;
}

const connectTimeoutMs = 2_000;

/** One collection worker at one address: what is known about its health, and the connections to it. */
export class CollectionEndpoint extends Endpoint {
  readonly url: URL;
  readonly pool: ConnectionPool;
  readonly #clock: Clock;
  readonly #onBusy: CollectionEndpointOptions['onBusy'];
  /** Bounded by the requests that may be in flight. */
  readonly calls = new Set<CarriedCall>();
  /** Routes that name it. */
  references = 0;
  /** As the last route says that names it. */
  zone: string | undefined;
  /** When it last answered anything. */
  heardMs: number;
  #connecting: Promise<boolean> | undefined;

  constructor({ workerId, url, localSocket, policy, clock, onBusy, onMove }: CollectionEndpointOptions) {
    super(workerId, policy, clock.monotonicMs(), (change) => onMove?.(this, change));
    this.url = url;
    this.#clock = clock;
    this.#onBusy = onBusy;
    this.heardMs = clock.monotonicMs();
    // As many connections as requests in flight: no request waits in line for one.
    this.pool = new ConnectionPool({
      url,
      ...(localSocket && { localSocket }),
      maxConnections: policy.maxInFlight,
      connectTimeoutMs,
      clock,
    });
  }

  carry(call: CarriedCall, nowMs: number): void {
    // The silence of an endpoint begins with the first call that it could answer.
    if (this.calls.size === 0) this.heardMs = Math.max(this.heardMs, nowMs);
    this.calls.add(call);
    this.begin(nowMs);
    this.#onBusy(this);
  }

  drop(call: CarriedCall, outcome: RequestOutcome, latencyMs: number): void {
    this.calls.delete(call);
    this.end(outcome, latencyMs, this.#clock.monotonicMs());
  }

  /** Whether it answers `GET /healthz`, whatever the answer is. On a connection of its own: the others may all be in use. */
  async answers(withinMs: number): Promise<boolean> {
    const pool = new ConnectionPool({
      url: this.url,
      maxConnections: 1,
      connectTimeoutMs: withinMs,
      clock: this.#clock,
    });
    const request = { head: requestHead('GET', new URL('/healthz', this.url)), body: '' };
    const answer = new Promise<boolean>((resolve) => {
      const cancel = this.#clock.after(withinMs, () => resolve(false));
      const end = (isThere: boolean): void => {
        cancel();
        resolve(isThere);
      };
      const failed = (): void => end(false);
      pool.acquireNew({
        use: (connection) => connection.send(request, { answered: () => end(true), failed }),
        failed,
      });
    });
    const isThere = await answer;
    await pool.close();
    return isThere;
  }

  /** Whether it accepts connections now and does not hang. One attempt at a time, whatever the number of callers. */
  acceptsConnections(): Promise<boolean> {
    if (this.isHung) return Promise.resolve(false);
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
