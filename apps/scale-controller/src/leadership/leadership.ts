import { defineStates } from '@drover/contracts';
import type { Database, DedicatedConnection } from '@drover/database';
import { deadlineAfter, WakeUp, type Clock, type Lifecycle, type Observe, type Randomness } from '@drover/service-kit';
import { acquireStatement, leaderChannel, livenessStatement, renewStatement, resignStatement } from './leader-table.js';
import type { LeadershipObservation } from './observations.js';

/**
 * - candidate: another scale controller leads, or the database does not answer; it tries to acquire the lease
 * - leader: it holds the lease, which it renews; it acts with the fencing token of its term
 * - stopped
 */
export const leadershipStates = defineStates('scale controller leadership', {
  candidate: ['leader', 'stopped'],
  leader: ['candidate', 'stopped'],
  stopped: [],
});

/** One leadership, from an election to its end. */
export interface LeaderTerm {
  readonly token: number;
  /** Whether the lease is certainly held. False from the moment at which another one may lead, also after a pause of the process. */
  isHeld(): boolean;
}

interface LeadershipOptions {
  readonly database: Database;
  /** Unique for each process. */
  readonly holderId: string;
  /** Lifetime of the lease: a leader that is paused is succeeded after it, and one that died at once. */
  readonly ttlMs: number;
  readonly onElected: (term: LeaderTerm) => void;
  /** Called before another controller can have been elected, unless this process was paused. */
  readonly onDeposed: (reason: string) => void;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<LeadershipObservation>;
}

/**
 * Elects one leader among scale controllers. The lease is a row; beside it the holder has a connection with an advisory lock, which
 * the server frees when the process dies: then a candidate needs not wait for the lease to expire. Every election raises the token.
 */
export class Leadership implements Lifecycle {
  readonly name = 'leadership';
  readonly #options: LeadershipOptions;
  readonly #connection: DedicatedConnection;
  readonly #state = leadershipStates.start('candidate');
  readonly #wakeUp = new WakeUp();
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #token = 0;
  /** By the monotonic clock: until then no other controller can have acquired the lease. */
  #heldUntilMs = 0;
  #cancelExpiry = (): void => undefined;

  constructor(options: LeadershipOptions) {
    this.#options = options;
    this.#connection = options.database.dedicatedConnection('scale leadership');
    this.#connection.onNotification(() => this.#wakeUp.notify());
    this.#connection.onConnected(
      async (session) => {
        await session.query(livenessStatement, [options.holderId]);
        await session.query(`listen ${leaderChannel}`);
      },
      () => this.#wakeUp.notify(),
    );
  }

  get isLeader(): boolean {
    return this.#state.is('leader') && this.#options.clock.monotonicMs() < this.#heldUntilMs;
  }

  /** Resolves after the first attempt, whether or not it has acquired the lease. */
  async start(signal?: AbortSignal): Promise<void> {
    await this.#connection.start(signal);
    await this.#attempt();
    this.#running = this.#run();
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    if (this.#state.is('stopped')) return;
    const wasLeader = this.#state.is('leader');
    this.#stopping.abort();
    await this.#running;
    if (this.#state.is('leader')) this.#depose('the process stops', true);
    this.#state.move('stopped');
    const { holderId } = this.#options;
    // Lets a candidate take over at once. If the database does not answer, the lease expires.
    if (wasLeader)
      await this.#answer(this.#connection.query(resignStatement, [holderId, this.#token])).catch(() => undefined);
    await this.#answer(this.#connection.stop()).catch(() => undefined);
  }

  /** Gives up the lease: something that this leader acts on has seen a newer token. */
  resign(reason: string): void {
    if (this.#state.is('leader')) this.#depose(reason);
  }

  async #run(): Promise<void> {
    const { clock, ttlMs } = this.#options;
    const signal = this.#stopping.signal;
    while (!signal.aborted) {
      const pauseMs = this.#state.is('leader') ? ttlMs / 3 : ttlMs / 6;
      await this.#wakeUp.wait(clock, pauseMs, signal);
      this.#wakeUp.reset();
      if (!signal.aborted) await this.#attempt();
    }
  }

  async #attempt(): Promise<void> {
    try {
      await (this.#state.is('leader') ? this.#renew() : this.#acquire());
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#options.observe({ kind: 'leadership.unanswered', reason });
    }
  }

  async #acquire(): Promise<void> {
    const { clock, holderId, ttlMs, onElected, observe } = this.#options;
    const askedMs = clock.monotonicMs();
    const query = this.#connection.query<{ token: string }>(acquireStatement, [holderId, ttlMs]);
    const [row] = await this.#answer(query);
    if (!row || this.#stopping.signal.aborted) return;
    this.#token = Number(row.token);
    this.#state.move('leader');
    this.#hold(askedMs + ttlMs);
    const { token } = this;
    observe({ kind: 'leadership.elected', token });
    onElected({ token, isHeld: () => this.isLeader && this.#token === token });
  }

  get token(): number {
    return this.#token;
  }

  async #renew(): Promise<void> {
    const { clock, holderId, ttlMs } = this.#options;
    const askedMs = clock.monotonicMs();
    const rows = await this.#answer(this.#connection.query(renewStatement, [holderId, this.#token, ttlMs]));
    if (!this.#state.is('leader')) return;
    if (rows.length === 0) this.#depose('another scale controller acquired the lease');
    else this.#hold(askedMs + ttlMs);
  }

  #hold(untilMs: number): void {
    const { clock } = this.#options;
    this.#heldUntilMs = untilMs;
    this.#cancelExpiry();
    this.#cancelExpiry = clock.after(untilMs - clock.monotonicMs(), () =>
      this.#depose('the lease was not renewed in time'),
    );
  }

  #depose(reason: string, isPlanned = false): void {
    this.#cancelExpiry();
    this.#heldUntilMs = 0;
    this.#state.move('candidate');
    this.#options.observe({ kind: 'leadership.deposed', token: this.#token, reason, isPlanned });
    this.#options.onDeposed(reason);
  }

  /** A server that does not answer must not hold up the loop for longer than a third of the lease. */
  async #answer<T>(work: Promise<T>): Promise<T> {
    const { clock, ttlMs } = this.#options;
    const deadline = deadlineAfter(clock, ttlMs / 3);
    try {
      return await Promise.race([
        work,
        new Promise<never>((_, reject) => {
          deadline.signal.addEventListener('abort', () => reject(new Error('the database did not answer in time')), {
            once: true,
          });
        }),
      ]);
    } finally {
      deadline.cancel();
    }
  }
}
