import { ConnectionPool, type ConnectionPoolOptions } from '@drover/http-edge';

/** One request to a worker, from its start to its end. */
export interface WorkerTurn {
  /** It is the first one on its connection. */
  readonly isFirst: boolean;
  /** The worker has accepted the connection: it has sent something. `isEarly`: before its answer. */
  recordHeard(isEarly: boolean): void;
  /** Call once when the request has been answered or has failed. */
  end(): void;
}

/** Connections that may wait to be accepted at a time. */
const mostUnheard = 2;
/** A server that never reports early that it has accepted a connection is assumed to do so within this time. */
const assumedAcceptMs = 50;

/**
 * The connections to the HTTP server of one worker, and the order in which requests get them.
 *
 * Node.js accepts one connection per turn of its event loop, while each turn serves all connections that were accepted before.
 * So requests on many new connections would wait for one turn each, behind later requests on the others: 7 s at 64 callers of
 * a function that computes for 5 ms. Therefore:
 *
 * - A request takes an idle connection. Without one, it opens a new one if fewer than `mostUnheard` wait to be accepted.
 * - Otherwise it waits in line for whichever comes first. The line is as long as the worker has invocations.
 * - The first request on a connection asks for `100 Continue`, by which Node.js reports at once that it has accepted it.
 */
export class WorkerConnections {
  readonly pool: ConnectionPool;
  readonly #clock: ConnectionPoolOptions['clock'];
  readonly #waiting = new Set<(turn: WorkerTurn) => void>();
  #unheard = 0;
  #reportsEarly = false;

  constructor(options: ConnectionPoolOptions) {
    this.pool = new ConnectionPool(options);
    this.#clock = options.clock;
  }

  /** Calls `start` when a connection can be acquired, at once or later. Returns a function that leaves the line. */
  enter(start: (turn: WorkerTurn) => void): () => void {
    if (this.#waiting.size === 0 && this.#hasRoom()) {
      start(this.#newTurn());
      return () => undefined;
    }
    this.#waiting.add(start);
    return () => void this.#waiting.delete(start);
  }

  #hasRoom(): boolean {
    return this.pool.idle > 0 || this.#unheard < mostUnheard;
  }

  #newTurn(): WorkerTurn {
    const isFirst = this.pool.idle === 0;
    if (!isFirst) return { isFirst, recordHeard: () => undefined, end: () => this.#serveWaiting() };
    this.#unheard += 1;
    let isHeard = false;
    const recordHeard = (isEarly: boolean): void => {
      if (isHeard) return;
      isHeard = true;
      cancel();
      this.#unheard -= 1;
      if (isEarly) this.#reportsEarly = true;
      this.#serveWaiting();
    };
    const cancel = this.#reportsEarly ? () => undefined : this.#clock.after(assumedAcceptMs, () => recordHeard(false));
    const end = (): void => {
      recordHeard(false);
      this.#serveWaiting();
    };
    return { isFirst, recordHeard, end };
  }

  #serveWaiting(): void {
    for (const start of this.#waiting) {
      if (!this.#hasRoom()) return;
      this.#waiting.delete(start);
      start(this.#newTurn());
    }
  }
}
