import { sleep, WakeUp, type Clock, type Lifecycle, type Observe } from '@drover/service-kit';
import type { PassResult } from './assignment-pass.js';
import type { AssignmentObservation } from './observations.js';

export interface AssignmentRunnerOptions {
  readonly pass: () => Promise<PassResult>;
  /** A pass is made after this long, whatever happened. */
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly observe: Observe<AssignmentObservation>;
}

/** After a pass that failed, for example because PostgreSQL is away. */
const tryAgainMs = 500;
/** After a pass that changed something: workers answer at once, and one that does not is found soon. Then twice as long, and so on. */
const firstWaitMs = 1_000;
/** Passes may take half of the time at most, when one follows the other. */
const longestPauseMs = 1_000;

/**
 * Makes passes over the assignments: at once when a definition, a registration or a report asks for one, and at an interval. Requests
 * that come during a pass lead to one more. Every replica of the control plane runs one; a pass that another has made costs little.
 */
export class AssignmentRunner implements Lifecycle {
  readonly name = 'collection assignments';
  readonly #options: AssignmentRunnerOptions;
  readonly #wakeUp = new WakeUp();
  readonly #stopping = new AbortController();
  #done: Promise<void> = Promise.resolve();
  #last: PassResult | undefined;
  /** Until the next pass, unless one is asked for. */
  #waitMs: number;

  constructor(options: AssignmentRunnerOptions) {
    this.#options = options;
    this.#waitMs = options.intervalMs;
  }

  /** Of the last pass of this replica, for metrics. */
  get last(): PassResult | undefined {
    return this.#last;
  }

  async start(): Promise<void> {
    this.#done = this.#run();
  }

  /** Workers that leave together with the control plane still hand over their collections. */
  async drain(): Promise<void> {}

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('collection assignments are stopped'));
    await this.#done;
  }

  /** Asks for a pass. Does not wait for it. */
  wake(): void {
    this.#wakeUp.notify();
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#wakeUp.reset();
      const startedMs = clock.monotonicMs();
      const isDone = await this.#pass(startedMs);
      const tookMs = clock.monotonicMs() - startedMs;
      const pauseMs = isDone ? Math.min(tookMs, longestPauseMs) : tryAgainMs;
      await sleep(clock, pauseMs, signal).catch(() => undefined); // rejects when it is stopped
      if (isDone) await this.#wakeUp.wait(clock, this.#waitMs, signal);
    }
  }

  async #pass(startedMs: number): Promise<boolean> {
    const { pass, clock, intervalMs, observe } = this.#options;
    try {
      const result = await pass();
      const { changes, unassigned } = result;
      const isWorkerReady = hasReadyWorker(result);
      const hasNewReason = unassigned > 0 && isWorkerReady !== hasReadyWorker(this.#last);
      if (unassigned !== (this.#last?.unassigned ?? 0) || hasNewReason)
        observe({ kind: 'assignments.unassigned', unassigned, isWorkerReady });
      this.#last = result;
      const isBusy = changes && changes.assigned + changes.drained + changes.removed + changes.routes > 0;
      this.#waitMs = Math.min(isBusy ? firstWaitMs : this.#waitMs * 2, intervalMs);
      if (!changes) return true;
      for (const workerId of changes.offline)
        observe({ kind: 'collection-worker.status-changed', workerId, status: 'OFFLINE' });
      for (const one of changes.failed) observe({ kind: 'assignments.given-up', ...one });
      const { offline: _, failed: _failed, ...counts } = changes;
      const durationMs = clock.monotonicMs() - startedMs;
      observe({ kind: 'assignments.passed', ...counts, durationMs });
      return true;
    } catch (error) {
      if (!this.#stopping.signal.aborted) observe({ kind: 'assignments.pass-failed', error });
      return false;
    }
  }
}

/** Right after a start, none is: collections wait, and no worker is short of room. */
function hasReadyWorker(result: PassResult | undefined): boolean {
  return (result?.workers.get('READY') ?? 0) > 0;
}
