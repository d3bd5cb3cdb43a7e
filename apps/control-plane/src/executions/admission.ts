import { functionRemoved, ownerMoving, queueFull, queuesFull, tooManyScheduled, waitTooLong } from './errors.js';
import type { FunctionLane } from './function-lane.js';
import type { Refusal } from './live-execution.js';

/** What is taken at home, all functions together. */
export interface Held {
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
  lane: FunctionLane,
  held: Held,
  limits: AdmissionLimits,
  call: { readonly bytes: number; readonly isScheduled: boolean; readonly budgetMs?: number },
): Refusal | undefined {
  if (lane.closed === 'removed') return { error: functionRemoved({ name: lane.name }) };
  if (lane.closed === 'moved') return { error: ownerMoving({}), retryAfterSeconds: 1 };
  if (held.bytes + call.bytes > limits.maxBytes)
    return { error: queuesFull({ limitBytes: limits.maxBytes }), retryAfterSeconds: 1, reason: 'bytes' };
  if (call.isScheduled)
    return held.scheduled < limits.maxScheduled
      ? undefined
      : { error: tooManyScheduled({ limit: limits.maxScheduled }), retryAfterSeconds: 1, reason: 'depth' };
  const { name, waiting, definition } = lane;
  if (!lane.hasRoom)
    return {
      error: queueFull({ name, waiting, queueSize: definition.queueSize }),
      retryAfterSeconds: retryAfterSeconds(lane),
      reason: 'depth',
    };
  if (call.budgetMs === undefined || lane.figures.latency.count < enoughSamples) return undefined;
  const estimateMs = Math.round(lane.estimatedWaitMs);
  if (estimateMs <= call.budgetMs) return undefined;
  return {
    error: waitTooLong({ name, estimateMs, budgetMs: call.budgetMs }),
    retryAfterSeconds: retryAfterSeconds(lane),
    reason: 'est_wait',
  };
}

/** By then everything that waits now has had its turn. Whole seconds are all that the header can say. */
export function retryAfterSeconds(lane: FunctionLane): number {
  return Math.min(3_600, Math.max(1, Math.ceil(lane.estimatedWaitMs / 1_000)));
}
