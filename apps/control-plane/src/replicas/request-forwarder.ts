import {
  ConnectionPool,
  forwardedHead,
  ProxiedRequest,
  readShortBody,
  type ForwardedRequest,
  type MissKind,
} from '@drover/http-edge';
import { backOffMs, sleep, type Clock, type Lifecycle, type Observe, type Randomness } from '@drover/service-kit';
import { ownerConnectionLost, ownerUnreachable } from './errors.js';
import { forwardChanges, isFromNonOwner } from './forward-headers.js';
import { Forwarding, type ForwardSource } from './forwarding.js';
import type { ReplicaObservation } from './observations.js';

export interface RequestForwarderOptions {
  readonly replicaId: string;
  /** Called when an owner could not be reached: it may be gone. */
  readonly unreachable?: () => void;
  /** Requests in flight to one other replica; further ones wait. */
  readonly maxConnections?: number;
  /** How long a request that no replica has started is sent to one owner after the other. */
  readonly rerouteWithinMs?: number;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<ReplicaObservation>;
}

/** Returns the URL of the current owner, which may be this replica; undefined if there is none. */
export type Reroute = () => Promise<string | undefined>;

/** A quarter of the connections that a replica's port accepts. */
const defaultMaxConnections = 256;
const connectTimeoutMs = 2_000;
/** Bodies up to this size are held until the answer begins, so that they can be sent again when the owner has just changed. */
const heldBytes = 262_144;
const defaultRerouteWithinMs = 5_000;
const rerouteBackOff = { firstMs: 20, maxMs: 250, factor: 2 };

/**
 * Forwards requests to the replica that owns their partition, and its answers back. The owner decides how long an answer may
 * take. A request that no replica has started is sent to the owner of the moment. One that is repeatable is sent once more
 * when its connection broke; any other is not, since how far it got is not known.
 */
export class RequestForwarder implements Lifecycle {
  readonly name = 'request forwarder';
  readonly #options: RequestForwarderOptions;
  readonly #pools = new Map<string, ConnectionPool>();
  /** Requests in flight, by the URL of their replica. */
  readonly #inFlight = new Map<string, Set<Forwarding>>();

  constructor(options: RequestForwarderOptions) {
    this.#options = options;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()));
  }

  /** Forwards a request. With `reroute`, one that finds its owner changed or gone goes on to the next. Never throws. */
  forward(source: ForwardSource, url: string, reroute?: Reroute): void {
    const begin = (body: ForwardSource['body']): void => {
      const giveUpMs = this.#options.clock.monotonicMs() + (this.#options.rerouteWithinMs ?? defaultRerouteWithinMs);
      this.#send(new Forwarding(source, body), { url, attempt: 1, giveUpMs, reroute });
    };
    const { body, request } = source;
    const reading =
      body !== undefined && 'source' in body
        ? readShortBody(body.source, request.headers['content-length'], heldBytes)
        : undefined;
    if (!reading) return begin(body);
    // A client that left before it had sent its body gets no answer.
    reading.then(begin, () => source.sink.destroy());
  }

  /** Gives up requests to a replica that is gone: one that is frozen keeps its connections and never answers. */
  abandon(url: string): void {
    for (const forwarding of this.#inFlight.get(url) ?? []) {
      const { proxied } = forwarding;
      if (!proxied || proxied.hasBegun) continue;
      forwarding.isAbandoned = true;
      proxied.miss(new Error('The replica does not answer, and others have taken over from it.'));
    }
  }

  #send(forwarding: Forwarding, way: Way): void {
    const mayReroute = way.reroute !== undefined && forwarding.isWhole;
    const ended = this.#record(forwarding, way.url);
    const onMissed = (miss: MissKind, error: Error): void => {
      ended();
      const wasStarted = miss === 'unknown' || miss === 'stale';
      const isSafe = !wasStarted || (forwarding.isAbandoned && forwarding.isRepeatable);
      if (isSafe && mayReroute) void this.#sendToNextOwner(forwarding, way, miss, error);
      else if (wasStarted && way.attempt === 1 && forwarding.isRepeatable)
        this.#send(forwarding, { ...way, attempt: 2 });
      else this.#refuse(forwarding, way, wasStarted, error);
    };
    const { sink } = forwarding.source;
    const proxied = new ProxiedRequest({
      pool: this.#poolOf(way.url),
      request: this.#toRequest(forwarding),
      sink,
      onMissed,
      onEnd: ended,
      isOnNewConnection: way.attempt > 1,
      ...(mayReroute && { accepts: ({ headers }) => !isFromNonOwner(headers) }),
    });
    forwarding.isAbandoned = false;
    forwarding.proxied = proxied;
    proxied.start();
  }

  #toRequest({ source: { request }, body }: Forwarding): ForwardedRequest {
    const isChunked = body !== undefined && 'source' in body && body.isChunked;
    return {
      wholeHead: forwardedHead(request, forwardChanges(this.#options.replicaId), isChunked),
      body,
      isHead: request.method === 'HEAD',
    };
  }

  #poolOf(url: string): ConnectionPool {
    const known = this.#pools.get(url);
    if (known) return known;
    for (const [other, { isUnused }] of this.#pools) if (isUnused) this.#pools.delete(other);
    const { maxConnections = defaultMaxConnections, clock } = this.#options;
    const pool = new ConnectionPool({ url: new URL(url), maxConnections, connectTimeoutMs, clock });
    this.#pools.set(url, pool);
    return pool;
  }

  #record(forwarding: Forwarding, url: string): () => void {
    let forwardings = this.#inFlight.get(url);
    if (!forwardings) this.#inFlight.set(url, (forwardings = new Set()));
    forwardings.add(forwarding);
    return () => {
      forwardings.delete(forwarding);
      if (forwardings.size === 0 && this.#inFlight.get(url) === forwardings) this.#inFlight.delete(url);
    };
  }

  async #sendToNextOwner(forwarding: Forwarding, way: Way, miss: MissKind, error: Error): Promise<void> {
    const { clock, randomness, unreachable } = this.#options;
    if (miss === 'unsent') unreachable?.();
    const waitMs = backOffMs(rerouteBackOff, way.attempt, randomness);
    const isTimeLeft = clock.monotonicMs() + waitMs < way.giveUpMs;
    // The list of owners may be as old as the request: a moment later it is newer.
    if (isTimeLeft) await sleep(clock, waitMs);
    const url = isTimeLeft ? await way.reroute?.().catch(() => undefined) : undefined;
    if (forwarding.source.sink.isOver) return;
    if (url === undefined) this.#refuse(forwarding, way, false, error);
    else this.#send(forwarding, { ...way, url, attempt: way.attempt + 1 });
  }

  #refuse({ source, isRepeatable }: Forwarding, { url }: Way, wasStarted: boolean, cause: Error): void {
    const { observe, unreachable } = this.#options;
    const reason = 'code' in cause ? String(cause.code) : cause.message;
    observe({ kind: 'replica.unreachable', url, reason });
    unreachable?.();
    if (source.sink.isOver) return;
    source.refuse(
      wasStarted && !isRepeatable ? ownerConnectionLost({ url, reason }) : ownerUnreachable({ url, reason }),
    );
  }
}

interface Way {
  readonly url: string;
  readonly attempt: number;
  readonly giveUpMs: number;
  readonly reroute: Reroute | undefined;
}
