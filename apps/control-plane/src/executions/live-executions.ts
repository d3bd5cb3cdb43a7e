import type { Clock } from '@drover/service-kit';
import { bytesOf } from '@drover/contracts';
import type { HeldTotals } from './admission.js';
import type { LiveExecution } from './live-execution.js';

/** Every execution that has not ended, and what they hold together: bytes, places in queues, entries of the timetable. */
export class LiveExecutions {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #live = new Map<string, LiveExecution>();
  readonly #held = { bytes: 0, scheduled: 0 };

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  get held(): HeldTotals {
    return this.#held;
  }

  get size(): number {
    return this.#live.size;
  }

  get(executionId: string): LiveExecution | undefined {
    return this.#live.get(executionId);
  }

  all(): IterableIterator<LiveExecution> {
    return this.#live.values();
  }

  /** Takes its bytes, and its place in the queue or, when its time is to come, in the timetable. */
  add(execution: LiveExecution): void {
    const { executionId, runAt } = execution.accepted;
    this.#live.set(executionId, execution);
    this.#held.bytes += bytesOf(execution.accepted);
    execution.isScheduled = this.isAhead(runAt);
    if (execution.isScheduled) this.#held.scheduled += 1;
    else execution.queue.waiting += 1;
  }

  /** False when it was not there. Its place in the queue is given back by whoever takes it out of there. */
  remove(execution: LiveExecution): boolean {
    if (!this.#live.delete(execution.accepted.executionId)) return false;
    this.#held.bytes -= bytesOf(execution.accepted);
    this.unschedule(execution);
    return true;
  }

  /** Its time has come, or will not come. */
  unschedule(execution: LiveExecution): void {
    if (!execution.isScheduled) return;
    execution.isScheduled = false;
    this.#held.scheduled -= 1;
  }

  isAhead(runAt: number | undefined): boolean {
    return runAt !== undefined && runAt > this.#clock.now();
  }
}
