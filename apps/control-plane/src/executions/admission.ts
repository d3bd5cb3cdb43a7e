import { functionRemoved, ownerMoving, queueFull, queuesFull, tooManyScheduled, waitTooLong } from './errors.js';
import type { FunctionQueue } from './function-queue.js';
import type { CallRefusal } from './live-execution.js';

/** What is taken at home, all functions together. */
export interface HeldTotals {
  readonly bytes: number;
  readonly scheduled: number;
}

export interface AdmissionLimits {
  readonly maxBytes: number;
  readonly maxScheduled: number;
}

/** An estimate is one only after the function has run for a while. */
const enoughSamples = 50;

/** Whether a call may come in; nothing when it may. `budgetMs` is how long a caller waits for it, if one does. */
export function refusalOf(
  queue: FunctionQueue,
  held: HeldTotals,
  limits: AdmissionLimits,
  call: { readonly bytes: number; readonly isScheduled: boolean; readonly budgetMs?: number },
): CallRefusal | undefined {
  if (queue.closed === 'removed') return { error: functionRemoved({ name: queue.name }) };
  if (queue.closed === 'moved') return { error: ownerMoving({}), retryAfterSeconds: 1 };
  if (held.bytes + call.bytes > limits.maxBytes)
    return { error: queuesFull({ limitBytes: limits.maxBytes }), retryAfterSeconds: 1, reason: 'bytes' };
  if (call.isScheduled)
    return held.scheduled < limits.maxScheduled
      ? undefined
      : { error: tooManyScheduled({ limit: limits.maxScheduled }), retryAfterSeconds: 1, reason: 'depth' };
  const { name, waiting, definition } = queue;
  if (!queue.hasRoom)
    return {
      error: queueFull({ name, waiting, queueSize: definition.queueSize }),
      retryAfterSeconds: retryAfterSeconds(queue),
      reason: 'depth',
    };
  if (call.budgetMs === undefined || queue.metrics.latency.count < enoughSamples) return undefined;
  const estimateMs = Math.round(queue.estimatedWaitMs);
  if (estimateMs <= call.budgetMs) return undefined;
  return {
    error: waitTooLong({ name, estimateMs, budgetMs: call.budgetMs }),
    retryAfterSeconds: retryAfterSeconds(queue),
    reason: 'est_wait',
  };
}

/** By then everything that waits now has had its turn. Whole seconds are all that the header can say. */
export function retryAfterSeconds(queue: FunctionQueue): number {
  return Math.min(3_600, Math.max(1, Math.ceil(queue.estimatedWaitMs / 1_000)));
}
