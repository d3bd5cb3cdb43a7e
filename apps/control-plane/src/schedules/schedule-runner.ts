import { partitionOf, type FencingTokens, type OwnershipListener } from '@drover/ownership';
import type { Clock, Lifecycle, Observe } from '@drover/service-kit';
import type { InvocationEngine } from '../executions/engine.js';
import type { FunctionCatalog } from '../functions/function-catalog.js';
import { dueRuns } from './due-runs.js';
import type { ScheduleObservation } from './observations.js';
import type { ScheduledFunction, ScheduleStore } from './schedule-store.js';

export interface ScheduleRunnerOptions {
  readonly store: Pick<ScheduleStore, 'list' | 'advance'>;
  readonly engine: Pick<InvocationEngine, 'openQueue' | 'enqueue'>;
  readonly catalog: Pick<FunctionCatalog, 'onChange'>;
  readonly fencingTokens: Pick<FencingTokens, 'tokenOf'>;
  readonly clock: Clock;
  readonly observe: Observe<ScheduleObservation>;
}

/** Schedules are read again after this long, whatever happened. */
const longestWaitMs = 60_000;
/** After a refusal, and when the database is away. */
const tryAgainMs = 5_000;
const checkedTogether = 50;

/**
 * Starts the runs of schedules: a run is an asynchronous call. The rules:
 *
 * - The owner of a function starts its runs. A replica that has lost the function cannot: the store refuses the call.
 * - The idempotency key of a run is its time. If the owner ends between the call and the record that the run is done, the next owner
 *   calls again and finds the same execution: a run starts once.
 * - Schedules are read from the database at every check, so a check knows what was registered through any replica. It comes when the
 *   next run is due, when a function changes, and when partitions are acquired.
 */
export class ScheduleRunner implements OwnershipListener, Lifecycle {
  readonly name = 'function schedules';
  readonly #options: ScheduleRunnerOptions;
  /** Functions that had a schedule at the last check. */
  readonly #scheduled = new Set<string>();
  #cancelTimer: () => void = () => undefined;
  #checkAt = Infinity;
  #checking: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: ScheduleRunnerOptions) {
    this.#options = options;
    options.catalog.onChange((tenantId, name, now) => {
      if (now?.spec.schedule !== undefined || this.#scheduled.has(`${tenantId}/${name}`)) this.#checkWithin(0);
    });
  }

  async start(): Promise<void> {}

  async drain(): Promise<void> {
    this.#end();
  }

  async stop(): Promise<void> {
    this.#end();
    await this.#checking;
  }

  /** Does not wait for the check: the runs need the partitions to be served. */
  async acquired(): Promise<void> {
    this.#checkWithin(0);
  }

  async releasing(): Promise<void> {
    await this.#checking;
  }

  lost(): void {}

  #checkWithin(delayMs: number): void {
    const { clock } = this.#options;
    const at = clock.monotonicMs() + delayMs;
    if (this.#isStopped || this.#checkAt <= at) return;
    this.#cancelTimer();
    this.#checkAt = at;
    this.#cancelTimer = clock.after(delayMs, () => {
      this.#checkAt = Infinity;
      // A check that is under way may have read what this one is for.
      void (this.#checking ?? Promise.resolve()).then(() => this.#check());
    });
  }

  #check(): void {
    if (this.#isStopped || this.#checking) return;
    this.#checking = this.#checkAll()
      .catch((error: unknown) => {
        if (!this.#isStopped) this.#options.observe({ kind: 'schedule.check-failed', error });
        return tryAgainMs;
      })
      .then((waitMs) => {
        this.#checking = undefined;
        this.#checkWithin(waitMs);
      });
  }

  /** Returns how long the next check may wait. */
  async #checkAll(): Promise<number> {
    const { store } = this.#options;
    const all = await store.list();
    this.#scheduled.clear();
    for (const { tenantId, name } of all) this.#scheduled.add(`${tenantId}/${name}`);
    const owned = all.filter((one) => this.#isOwned(one));
    let waitMs = longestWaitMs;
    for (let at = 0; at < owned.length; at += checkedTogether) {
      const waits = await Promise.all(owned.slice(at, at + checkedTogether).map((one) => this.#checkOne(one)));
      waitMs = Math.min(waitMs, ...waits);
    }
    return waitMs;
  }

  async #checkOne(scheduled: ScheduledFunction): Promise<number> {
    const { store, clock } = this.#options;
    const now = clock.now();
    const { runs, nextAt } = dueRuns(scheduled.schedule, scheduled.afterMs, now);
    for (const time of runs) {
      if (!(await this.#run(scheduled, time))) return tryAgainMs;
      await store.advance(scheduled, time);
    }
    // From now on a change of the function does not move the time from which runs count.
    if (runs.length === 0 && !scheduled.isStored) await store.advance(scheduled, scheduled.afterMs);
    return nextAt === undefined ? longestWaitMs : Math.min(longestWaitMs, Math.max(0, nextAt - clock.now()));
  }

  /** Returns false when the run has to be tried again. */
  async #run(scheduled: ScheduledFunction, time: number): Promise<boolean> {
    const { engine, observe } = this.#options;
    const { tenantId, name, generation, schedule } = scheduled;
    if (this.#isStopped || !this.#isOwned(scheduled)) return false;
    const scheduledAt = new Date(time).toISOString();
    try {
      const queue = await engine.openQueue(tenantId, name);
      if (queue?.generation !== generation) return true; // it was removed, and has no more runs
      const accepted = await engine.enqueue(queue, {
        payload: { json: JSON.stringify(schedule.input ?? null) },
        metadata: { 'drover-scheduled-time': scheduledAt },
        idempotencyKey: `schedule-${scheduledAt}`,
      });
      if (!('refusal' in accepted)) {
        observe({ kind: 'schedule.run', tenantId, function: name, executionId: accepted.executionId, scheduledAt });
        return true;
      }
      // The key belongs to this run, which a former owner started with another input.
      if (accepted.refusal.error.status === 422) return true;
      throw accepted.refusal.error;
    } catch (error) {
      if (!this.#isStopped) observe({ kind: 'schedule.refused', tenantId, function: name, error });
      return false;
    }
  }

  #isOwned({ tenantId, name }: ScheduledFunction): boolean {
    return this.#options.fencingTokens.tokenOf(partitionOf(tenantId, name)) !== undefined;
  }

  #end(): void {
    this.#isStopped = true;
    this.#cancelTimer();
  }
}
