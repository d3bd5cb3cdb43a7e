import type { IncomingMessage, ServerResponse } from 'node:http';
import { toErrorBody, type CodedError } from '@drover/contracts';
import { backOffMs, sleep, type Clock, type Lifecycle, type Observe, type Randomness } from '@drover/service-kit';
import { Agent } from 'undici';
import { ownerConnectionLost, ownerUnreachable } from './errors.js';
import type { ReplicaObservation } from './observations.js';
import { hasBody, Passage, readShortBody, type Miss } from './passage.js';

export interface ForwarderOptions {
  readonly replicaId: string;
  /** A home could not be reached: perhaps it is gone. */
  readonly unreachable?: () => void;
  /** Requests under way to one other replica at a time; further ones wait. */
  readonly maxConnections?: number;
  /** How long a request is tried that nobody has begun with. */
  readonly rerouteWithinMs?: number;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<ReplicaObservation>;
}

/** Where the home is by now, this replica's own address included; nothing when there is none. */
export type Reroute = () => Promise<string | undefined>;

/** A quarter of what the other side's port takes from everybody. */
const defaultMaxConnections = 256;
/** Shorter than the other side keeps idle connections: ours should be the one that closes. */
const keepIdleMs = 3_000;
const connectWithinMs = 2_000;
/** Bodies up to here are held until the answer is there: so they can go elsewhere when their home has just moved. */
const heldBytes = 262_144;
const defaultRerouteWithinMs = 5_000;
const rerouteBackOff = { firstMs: 20, maxMs: 250, factor: 2 };

/**
 * Passes requests on to the replica that has them, and its answers back, both as they come. How long an answer may take is
 * for the home to decide. A request that nobody has begun with goes to where its home is by then. One that may be repeated
 * without harm is sent once more when the connection was just being closed; any other is not, for nobody knows how far it
 * got.
 */
export class Forwarder implements Lifecycle {
  readonly name = 'forwarder';
  readonly #options: ForwarderOptions;
  readonly #agent: Agent;
  /** What is on its way, by where to. */
  readonly #underWay = new Map<string, Set<Passage>>();

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.#agent = new Agent({
      connections: options.maxConnections ?? defaultMaxConnections,
      keepAliveTimeout: keepIdleMs,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: connectWithinMs },
    });
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await this.#agent.destroy();
  }

  /**
   * `body`: when it has been read already; otherwise it is read from the request. With `reroute`, a request that finds its
   * home moved or gone goes on to the next one. Never throws.
   */
  forward(request: IncomingMessage, response: ServerResponse, url: string, body?: Buffer, reroute?: Reroute): void {
    const begin = (read: Buffer | undefined): void => {
      const giveUpMs = this.#options.clock.monotonicMs() + (this.#options.rerouteWithinMs ?? defaultRerouteWithinMs);
      this.#send(new Passage(request, response, read), { url, attempt: 1, giveUpMs, reroute });
    };
    const reading = body === undefined && hasBody(request) ? readShortBody(request, heldBytes) : undefined;
    if (!reading) return begin(body);
    // A client that went away before it had sent everything is owed nothing.
    reading.then(begin, () => void response.destroy());
  }

  /** The replica there is gone, though its connections may not be: a frozen one keeps them, and never answers. */
  abandon(url: string): void {
    for (const passage of this.#underWay.get(url) ?? []) passage.abandon();
  }

  #send(passage: Passage, way: Way): void {
    const { replicaId } = this.#options;
    const mayGoElsewhere = way.reroute !== undefined && passage.isWhole;
    const arrived = this.#depart(passage, way.url);
    const missed = (miss: Miss, error: Error): void => {
      arrived();
      const isSafe = miss !== 'unknown' || (passage.isAbandoned && passage.isRepeatable);
      if (isSafe && mayGoElsewhere) void this.#sendElsewhere(passage, way, miss, error);
      else if (miss === 'unknown' && way.attempt === 1 && passage.isRepeatable)
        this.#send(passage, { ...way, attempt: 2 });
      else this.#refuse(passage, way, miss, error);
    };
    try {
      this.#agent.dispatch(passage.toDispatch(way.url, replicaId), passage.handler(mayGoElsewhere, missed));
    } catch (error) {
      missed('unsent', error instanceof Error ? error : new Error(String(error)));
    }
  }

  #depart(passage: Passage, url: string): () => void {
    let passages = this.#underWay.get(url);
    if (!passages) this.#underWay.set(url, (passages = new Set()));
    passages.add(passage);
    const arrived = (): void => {
      passages.delete(passage);
      if (passages.size === 0 && this.#underWay.get(url) === passages) this.#underWay.delete(url);
    };
    passage.response.once('close', arrived);
    return arrived;
  }

  async #sendElsewhere(passage: Passage, way: Way, miss: Miss, error: Error): Promise<void> {
    const { clock, randomness, unreachable } = this.#options;
    if (miss === 'unsent') unreachable?.();
    const waitMs = backOffMs(rerouteBackOff, way.attempt, randomness);
    const isTimeLeft = clock.monotonicMs() + waitMs < way.giveUpMs;
    // What is known of homes may be as old as the request: a moment later it is newer.
    if (isTimeLeft) await sleep(clock, waitMs);
    const url = isTimeLeft ? await way.reroute?.().catch(() => undefined) : undefined;
    if (passage.response.destroyed) return;
    if (url === undefined) this.#refuse(passage, way, miss, error);
    else this.#send(passage, { ...way, url, attempt: way.attempt + 1 });
  }

  #refuse({ response, isRepeatable }: Passage, { url }: Way, miss: Miss, cause: Error): void {
    const { observe, unreachable, randomness } = this.#options;
    const reason = 'code' in cause ? String(cause.code) : cause.message;
    observe({ kind: 'replica.unreachable', url, reason });
    unreachable?.();
    const mayHaveBegun = miss === 'unknown' && !isRepeatable;
    refuse(
      response,
      mayHaveBegun ? ownerConnectionLost({ url, reason }) : ownerUnreachable({ url, reason }),
      randomness.uuid(),
    );
  }
}

interface Way {
  readonly url: string;
  readonly attempt: number;
  readonly giveUpMs: number;
  readonly reroute: Reroute | undefined;
}

function refuse(response: ServerResponse, error: CodedError, requestId: string): void {
  if (response.headersSent || response.destroyed) return;
  const body = JSON.stringify(toErrorBody(error, requestId).body);
  response.writeHead(error.status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'x-request-id': requestId,
    // What is left of the request's body may still be on its way.
    connection: 'close',
    ...(error.retryable && { 'retry-after': '1' }),
  });
  response.end(body);
}
