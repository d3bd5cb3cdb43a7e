import { bytesOf } from '@drover/contracts';
import type { Clock } from '@drover/service-kit';
import type { CallRefusal } from './call-results.js';
import {
  functionDraining,
  functionPaused,
  functionRemoved,
  functionUnknown,
  ownerMoving,
  queueFull,
  queuesFull,
  tooManyScheduled,
  waitTooLong,
} from './errors.js';
import type { FunctionQueue } from './function-queue.js';
import type { LiveExecution } from './live-execution.js';

export interface AdmissionLimits {
  readonly maxBytes: number;
  readonly maxScheduled: number;
}

/** The wait is estimated only after the function has completed this many attempts. */
const enoughSamples = 50;

/**
 * Every execution that has not ended, and what all of them hold together: bytes of inputs, places in queues, places in the schedule.
 * Decides by that whether another call is admitted.
 */
export class LiveExecutions {
  readonly #limits: AdmissionLimits;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #live = new Map<string, LiveExecution>();
  #bytes = 0;
  #scheduled = 0;

  constructor(limits: AdmissionLimits, clock: Pick<Clock, 'monotonicMs'>) {
    this.#limits = limits;
    this.#clock = clock;
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

  /** Returns why a call is refused, or undefined. `budgetMs` is how long its caller waits, if one does. */
  refusalOf(
    queue: FunctionQueue,
    call: { readonly bytes: number; readonly isDelayed: boolean; readonly budgetMs?: number },
  ): CallRefusal | undefined {
    const { maxBytes, maxScheduled } = this.#limits;
    if (queue.closed === 'removed') return { error: functionRemoved({ name: queue.name }) };
    if (queue.closed === 'absent') return { error: functionUnknown({ name: queue.name }) };
    if (queue.closed === 'moved') return { error: ownerMoving({}), retryAfterSeconds: 1 };
    const control = queue.definition.queueControl;
    if (control?.state === 'draining')
      return {
        error: control.isRemoving ? functionRemoved({ name: queue.name }) : functionDraining({ name: queue.name }),
      };
    if (control?.state === 'paused' && call.budgetMs !== undefined)
      return { error: functionPaused({ name: queue.name }) };
    if (this.#bytes + call.bytes > maxBytes)
      return { error: queuesFull({ limitBytes: maxBytes }), retryAfterSeconds: 1, reason: 'bytes' };
    if (call.isDelayed)
      return this.#scheduled < maxScheduled
        ? undefined
        : { error: tooManyScheduled({ limit: maxScheduled }), retryAfterSeconds: 1, reason: 'depth' };
    const { name, waiting, definition } = queue;
    if (!queue.hasRoom)
      return {
        error: queueFull({ name, waiting, queueSize: definition.queueSize }),
        retryAfterSeconds: wholeSeconds(queue.timeToRoomMs(this.#clock.monotonicMs())),
        reason: 'depth',
      };
    if (call.budgetMs === undefined || queue.metrics.latency.count < enoughSamples) return undefined;
    const estimateMs = Math.round(queue.estimatedWaitMs);
    if (estimateMs <= call.budgetMs) return undefined;
    return {
      error: waitTooLong({ name, estimateMs, budgetMs: call.budgetMs }),
      retryAfterSeconds: wholeSeconds(estimateMs - call.budgetMs),
      reason: 'est_wait',
    };
  }

  /** Takes the bytes of an admitted execution and its place in the queue or, when it is delayed, in the schedule. */
  add(execution: LiveExecution): void {
    this.#live.set(execution.accepted.executionId, execution);
    this.#bytes += bytesOf(execution.accepted);
    if (execution.isDelayed) this.#scheduled += 1;
    else execution.queue.waiting += 1;
  }

  /** Frees the place in the schedule: its time has come, or it will not run. */
  releaseScheduled(): void {
    this.#scheduled -= 1;
  }

  /** Frees the bytes. Returns false when the execution was removed before. */
  remove(execution: LiveExecution): boolean {
    if (!this.#live.delete(execution.accepted.executionId)) return false;
    this.#bytes -= bytesOf(execution.accepted);
    return true;
  }
}

/** `Retry-After` has whole seconds only. */
function wholeSeconds(ms: number): number {
  return Math.min(3_600, Math.max(1, Math.ceil(ms / 1_000)));
}
