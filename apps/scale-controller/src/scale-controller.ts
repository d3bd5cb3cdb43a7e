import type { CatalogMirror } from '@drover/application-catalog';
import type { Database } from '@drover/database';
import { BackOff, deadlineAfter, type Clock, type Lifecycle, type Observe, type Randomness } from '@drover/service-kit';
import type { CollectionFleetObservation } from './collection-workers/observations.js';
import { Leadership, type LeaderTerm } from './leadership/leadership.js';
import type { LeadershipObservation } from './leadership/observations.js';
import type { TermObservation } from './term/observations.js';
import { RunningTerm, type LeaderTermOptions } from './term/leader-term.js';

export interface ScaleControllerOptions
  extends Omit<LeaderTermOptions, 'term' | 'resign' | 'observe' | 'catalog' | 'clock' | 'randomness'> {
  readonly database: Database;
  readonly leaseMs: number;
  readonly catalog: CatalogMirror;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<TermObservation | CollectionFleetObservation | LeadershipObservation>;
}

const adoptWithinMs = 2_000;
const startBackOff = { firstMs: 50, maxMs: 1_000, factor: 2 };

/**
 * Takes part in the election of a leader. While it leads, one `RunningTerm` acts; a term ends with the lease, and a new election
 * begins a new one from what is stored.
 */
export class ScaleController implements Lifecycle {
  readonly name = 'scale controller';
  readonly #options: ScaleControllerOptions;
  readonly #leadership: Leadership;
  #running: RunningTerm | undefined;
  #starting: Promise<void> = Promise.resolve();

  constructor(options: ScaleControllerOptions) {
    this.#options = options;
    const { database, leaseMs, clock, randomness, observe } = options;
    this.#leadership = new Leadership({
      database,
      holderId: randomness.uuid(),
      ttlMs: leaseMs,
      onElected: (term) => {
        this.#starting = this.#elected(term);
      },
      onDeposed: () => this.#deposed(),
      clock,
      randomness,
      observe,
    });
    options.catalog.onChange((key, application) => this.#running?.changed(key, application));
  }

  get isLeader(): boolean {
    return this.#leadership.isLeader;
  }

  /** The term that acts now; undefined while another scale controller leads, or this one still adopts. */
  get term(): RunningTerm | undefined {
    return this.#running;
  }

  /** Resolves when it acts as the leader, or another one leads; does not wait long for a provider that does not answer. */
  async start(): Promise<void> {
    await this.#leadership.start();
    const deadline = deadlineAfter(this.#options.clock, adoptWithinMs);
    const passed = new Promise<void>((resolve) => deadline.signal.addEventListener('abort', () => resolve()));
    await Promise.race([this.#starting, passed]);
    deadline.cancel();
  }

  /**
   * Leaves everything running: the next leader adopts it. What ends from now on, because the whole platform stops, is no loss, and is not
   * replaced.
   */
  async drain(): Promise<void> {
    await this.#leadership.stop();
  }

  async stop(): Promise<void> {
    await this.#leadership.stop();
  }

  async #elected(term: LeaderTerm): Promise<void> {
    const { clock, randomness, observe } = this.#options;
    const backOff = new BackOff(startBackOff, { clock, randomness });
    while (term.isHeld()) {
      const running = new RunningTerm({ ...this.#options, term, resign: (reason) => this.#leadership.resign(reason) });
      this.#running = running;
      try {
        return await running.start();
      } catch (error) {
        running.stop();
        if (this.#running === running) this.#running = undefined;
        observe({ kind: 'scale.call-failed', call: 'adopt', instanceId: 'all instances', reason: String(error) });
        await backOff.wait();
      }
    }
  }

  #deposed(): void {
    this.#running?.stop();
    this.#running = undefined;
  }
}
