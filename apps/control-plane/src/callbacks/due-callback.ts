import type { PendingCallback, FinishedExecution } from '@drover/execution-store';
import type { ResultDelivery } from './result-callbacks.js';
import { toDelivery } from './to-delivery.js';

/** What is to be done about a mark: deliver what was found, or give up, and why. */
export type DueCallback =
  | { readonly kind: 'deliver'; readonly delivery: ResultDelivery }
  | { readonly kind: 'give-up'; readonly problem: string };

export function toDueCallback(
  mark: PendingCallback,
  finished: FinishedExecution | undefined,
  now: number,
): DueCallback {
  if (finished?.accepted.callbackUrl === undefined) return giveUp('its execution is no longer kept');
  const { accepted, outcome, evicted } = finished;
  if (mark.dueUntil <= now) return giveUp('it could not be delivered in a day');
  // What went wrong is kept all the same.
  if (evicted && outcome.status === 'success') return giveUp('its output was dropped for want of room');
  return { kind: 'deliver', delivery: toDelivery(accepted, finished.accepted.callbackUrl, outcome) };
}

function giveUp(problem: string): DueCallback {
  return { kind: 'give-up', problem };
}
