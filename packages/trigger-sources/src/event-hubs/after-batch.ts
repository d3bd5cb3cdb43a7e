import type { Settlement } from '../trigger-source.js';
import type { FailurePolicy } from './event-hub-options.js';

/**
 * - advance: the batch is finished; `failure` has the reason if it is passed over
 * - redeliver: the same batch runs again, after a delay of the source if none is given
 * - dead-letter: its events are copied to the dead-letter hub, then the batch is finished
 */
export type BatchAction =
  | { readonly kind: 'advance'; readonly failure: string | undefined }
  | { readonly kind: 'redeliver'; readonly delayMs: number | undefined }
  | { readonly kind: 'dead-letter'; readonly reason: string };

/**
 * Decides what happens to a batch after its run. A log has no dead letters and no second queue: a batch is finished, or its
 * partition waits for it. A batch that the function did not run, or whose outputs were not written, is never passed over.
 */
export function afterBatch(settlement: Settlement, policy: FailurePolicy): BatchAction {
  if (settlement.kind === 'complete') return { kind: 'advance', failure: undefined };
  const delayMs = settlement.kind === 'abandon' ? settlement.delayMs : undefined;
  if (!settlement.byFunction || policy === 'hold') return { kind: 'redeliver', delayMs };
  const reason = settlement.kind === 'deadLetter' ? settlement.reason : 'the function failed';
  return policy === 'deadletter' ? { kind: 'dead-letter', reason } : { kind: 'advance', failure: reason };
}
