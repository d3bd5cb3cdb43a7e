import { BackOff, sleep, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import { rejectOnAbort } from '../requests.js';
import type { Deliver, Delivery, Settlement } from '../trigger-source.js';
import type { RecordChange } from '../collection-records.js';
import type { CollectionTriggerOptions } from './collection-options.js';
import type { CollectionObservation } from './observations.js';

export interface ChangeRunParts {
  readonly functionName: string;
  readonly options: CollectionTriggerOptions;
  readonly deliver: Deliver;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<CollectionObservation>;
}

type NextStep =
  | { readonly kind: 'done' }
  | { readonly kind: 'pass'; readonly reason: string }
  | { readonly kind: 'retry'; readonly delayMs?: number };

const redeliveries = { firstMs: 100, maxMs: 30_000, factor: 2 };

/**
 * Decides what happens to changes after a delivery. A change that its function fails is delivered again, and passed over after too many
 * deliveries: the changes behind it wait for it. A failure of the platform says nothing about the change: it never passes one.
 */
export function afterDelivery(settlement: Settlement, failures: number, maxDeliveryCount: number): NextStep {
  if (settlement.kind === 'complete') return { kind: 'done' };
  if (settlement.byFunction !== true) return { kind: 'retry' };
  if (settlement.kind === 'deadLetter') return { kind: 'pass', reason: settlement.reason };
  if (failures >= maxDeliveryCount) return { kind: 'pass', reason: `it failed ${failures} times` };
  return { kind: 'retry', ...(settlement.delayMs !== undefined && { delayMs: settlement.delayMs }) };
}

/**
 * Delivers changes until they are finished. Resolves with false if they must run again later: the listener drains (`closing`), or its
 * lease is lost (`lost`). Never rejects.
 */
export async function runChanges(
  changes: readonly RecordChange[],
  { functionName, options, deliver, clock, randomness, observe }: ChangeRunParts,
  { closing, lost }: { readonly closing: AbortSignal; readonly lost: AbortSignal },
): Promise<boolean> {
  const backOff = new BackOff(redeliveries, { clock, randomness });
  const about = { functionName, collection: options.collection, position: changes[0]?.position ?? 0 };
  let failures = 0;
  for (let deliveryCount = 1; ; deliveryCount += 1) {
    const delivery = toDelivery(changes, options, deliveryCount);
    const settlement = await rejectOnAbort(() => deliver(delivery, lost), lost).catch((error: unknown): Settlement => {
      if (!lost.aborted) observe({ kind: 'collection.delivery-threw', ...about, error });
      return { kind: 'abandon' };
    });
    if (lost.aborted) return false;
    if (settlement.kind !== 'complete' && settlement.byFunction === true) failures += 1;
    const next = afterDelivery(settlement, failures, options.maxDeliveryCount);
    if (next.kind === 'pass')
      observe({ kind: 'collection.passed-over', ...about, changes: changes.length, reason: next.reason });
    if (next.kind !== 'retry') return true;
    const delayMs = next.delayMs ?? backOff.nextMs();
    observe({ kind: 'collection.redelivered', ...about, delayMs, deliveryCount });
    await sleep(clock, delayMs, closing).catch(() => undefined);
    if (closing.aborted || lost.aborted) return false;
  }
}

function toDelivery(
  changes: readonly RecordChange[],
  { isBatch, collection }: CollectionTriggerOptions,
  deliveryCount: number,
): Delivery {
  const [first] = changes;
  const last = changes.at(-1);
  const single = { RecordId: first?.recordId, ChangeKind: first?.kind, Position: String(first?.position) };
  const metadata = { Collection: collection, DeliveryCount: deliveryCount, ...(isBatch ? {} : single) };
  return {
    data: isBatch ? changes.map(({ json }) => json) : (first?.json ?? '{}'),
    metadata,
    deliveryCount,
    id: `${collection}/${first?.position}${isBatch ? `-${last?.position}` : ''}`,
    traceparent: undefined,
  };
}
