import { hasCode } from '@drover/contracts';
import { BackOff, type Clock, type Randomness } from '@drover/service-kit';
import { scaleLeadershipLost } from '../errors.js';
import type { StoredApplication, StoredWorker } from '../placement/placement-types.js';
import type { DesiredStateStore, StoredDecision } from './desired-state-store.js';

interface DesiredStateWriterOptions {
  readonly store: Pick<DesiredStateStore, 'write'>;
  readonly token: number;
  /** The store refused the token: this leader must stop acting. */
  readonly onFenced: () => void;
  readonly onFailed: (error: unknown) => void;
  readonly clock: Clock;
  readonly randomness: Randomness;
}

const retryBackOff = { firstMs: 50, maxMs: 1_000, factor: 2 };
/** Decisions are for reports: while the database is away, only so many wait. */
const waitingDecisions = 1_000;

/**
 * Writes the desired state of one term. Changes of the same moment, and all that come while a write is under way, go into the next
 * statement; a later change of a row replaces an earlier one. While the database is away the changes wait.
 */
export class DesiredStateWriter {
  readonly #options: DesiredStateWriterOptions;
  readonly #stopping = new AbortController();
  /** By worker id; undefined: dropped. */
  #workers = new Map<string, StoredWorker | undefined>();
  #applications = new Map<string, StoredApplication | undefined>();
  #decisions: StoredDecision[] = [];
  #waiting: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = [];
  #isWriting = false;

  constructor(options: DesiredStateWriterOptions) {
    this.#options = options;
  }

  saveWorker(row: StoredWorker): void {
    this.#workers.set(row.workerId, row);
    this.#schedule();
  }

  dropWorker(workerId: string): void {
    this.#workers.set(workerId, undefined);
    this.#schedule();
  }

  saveApplication(row: StoredApplication): void {
    this.#applications.set(row.application, row);
    this.#schedule();
  }

  dropApplication(application: string): void {
    this.#applications.set(application, undefined);
    this.#schedule();
  }

  record(decision: StoredDecision): void {
    if (this.#decisions.length < waitingDecisions) this.#decisions.push(decision);
    this.#schedule();
  }

  /** Resolves when everything that was handed over so far is durable; rejects when this term is over. */
  flushed(): Promise<void> {
    if (this.#stopping.signal.aborted) return Promise.reject(scaleLeadershipLost({ token: this.#options.token }));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#schedule();
    });
  }

  /** Gives up what was not written yet: the term is over. */
  stop(): void {
    this.#stopping.abort();
    const lost = scaleLeadershipLost({ token: this.#options.token });
    for (const { reject } of this.#waiting.splice(0)) reject(lost);
  }

  #schedule(): void {
    if (this.#isWriting || this.#stopping.signal.aborted) return;
    this.#isWriting = true;
    queueMicrotask(() => void this.#writeAll());
  }

  async #writeAll(): Promise<void> {
    while (this.#workers.size + this.#applications.size + this.#decisions.length + this.#waiting.length > 0) {
      const waiting = this.#waiting;
      this.#waiting = [];
      try {
        await this.#writeOnce();
        for (const { resolve } of waiting) resolve();
      } catch (error) {
        for (const { reject } of waiting) reject(error);
        break;
      }
      if (this.#stopping.signal.aborted) break;
    }
    this.#isWriting = false;
  }

  async #writeOnce(): Promise<void> {
    const { store, token, onFenced, onFailed } = this.#options;
    const changes = this.#take();
    const backOff = new BackOff(retryBackOff, this.#options);
    for (;;) {
      try {
        return await store.write(token, changes);
      } catch (error) {
        if (hasCode(error, scaleLeadershipLost.code)) onFenced();
        else onFailed(error);
        if (this.#stopping.signal.aborted || hasCode(error, scaleLeadershipLost.code)) throw error;
        await backOff.wait(this.#stopping.signal);
      }
    }
  }

  #take(): Parameters<DesiredStateStore['write']>[1] {
    const [workers, applications, decisions] = [this.#workers, this.#applications, this.#decisions];
    this.#workers = new Map();
    this.#applications = new Map();
    this.#decisions = [];
    return {
      workers: [...workers.values()].filter((row) => row !== undefined),
      droppedWorkers: [...workers].flatMap(([id, row]) => (row ? [] : [id])),
      applications: [...applications.values()].filter((row) => row !== undefined),
      droppedApplications: [...applications].flatMap(([name, row]) => (row ? [] : [name])),
      decisions,
    };
  }
}
