import { BackOff, sleep, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import { rejectOnAbort } from '../requests.js';
import type { Deliver, Delivery, Settlement } from '../trigger-source.js';
import type { ChangeFailure, RecordChange } from '../collection-records.js';
import type { CollectionTriggerOptions } from './collection-options.js';
import type { CollectionObservation } from './observations.js';

export interface ChangeRunParts {
  readonly functionName: string;
  readonly options: CollectionTriggerOptions;
  readonly deliver: Deliver;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<CollectionObservation>;
  /** Stores changes that the function gave up. Resolves when they are durable. */
  readonly storeFailed: (changes: readonly RecordChange[], failure: ChangeFailure) => Promise<void>;
}

/**
 * - done: the function has run for the changes
 * - given up: it failed too often; the changes are stored
 * - again: they must run again later
 */
export type ChangeOutcome = 'done' | 'given up' | 'again';

type NextStep =
  | { readonly kind: 'done' }
  | { readonly kind: 'give up'; readonly reason: string }
  | { readonly kind: 'retry'; readonly delayMs?: number };

const redeliveries = { firstMs: 100, maxMs: 30_000, factor: 2 };

/**
 * Decides what happens to changes after a delivery. A change that its function fails is delivered again, and given up after too many
 * deliveries: the changes behind it wait for it. A failure of the platform says nothing about the change: none is given up for it.
 */
export function afterDelivery(settlement: Settlement, failures: number, maxDeliveryCount: number): NextStep {
  if (settlement.kind === 'complete') return { kind: 'done' };
  if (settlement.byFunction !== true) return { kind: 'retry' };
  if (settlement.kind === 'deadLetter') return { kind: 'give up', reason: settlement.reason };
  if (failures >= maxDeliveryCount) return { kind: 'give up', reason: settlement.reason ?? 'the function failed' };
  return { kind: 'retry', ...(settlement.delayMs !== undefined && { delayMs: settlement.delayMs }) };
}

/**
 * Delivers changes until the function has run for them, or has failed too often and they are stored. Resolves with `again` if they
 * must run again later: the listener drains (`closing`), or its lease is lost (`lost`). Never rejects.
 */
export async function runChanges(
  changes: readonly RecordChange[],
  parts: ChangeRunParts,
  { closing, lost }: { readonly closing: AbortSignal; readonly lost: AbortSignal },
): Promise<ChangeOutcome> {
  const { options, deliver, clock, observe } = parts;
  const backOff = new BackOff(redeliveries, parts);
  const about = aboutChanges(changes, parts);
  let failures = 0;
  for (let deliveryCount = 1; ; deliveryCount += 1) {
    const delivery = toDelivery(changes, options, deliveryCount);
    const settlement = await rejectOnAbort(() => deliver(delivery, lost), lost).catch((error: unknown): Settlement => {
      if (!lost.aborted) observe({ kind: 'collection.delivery-threw', ...about, error });
      return { kind: 'abandon' };
    });
    if (lost.aborted) return 'again';
    if (settlement.kind !== 'complete' && settlement.byFunction === true) failures += 1;
    const next = afterDelivery(settlement, failures, options.maxDeliveryCount);
    if (next.kind === 'done') return 'done';
    if (next.kind === 'give up')
      return giveUp(changes, { reason: next.reason, deliveries: deliveryCount }, parts, { closing, lost });
    const delayMs = next.delayMs ?? backOff.nextMs();
    observe({ kind: 'collection.redelivered', ...about, delayMs, deliveryCount });
    await sleep(clock, delayMs, closing).catch(() => undefined);
    if (closing.aborted || lost.aborted) return 'again';
  }
}

/** The checkpoint passes changes that are given up, so they must be stored before, however long that takes. */
async function giveUp(
  changes: readonly RecordChange[],
  failure: ChangeFailure,
  parts: ChangeRunParts,
  { closing, lost }: { readonly closing: AbortSignal; readonly lost: AbortSignal },
): Promise<ChangeOutcome> {
  const { observe, storeFailed } = parts;
  const about = aboutChanges(changes, parts);
  const backOff = new BackOff(redeliveries, parts);
  while (!lost.aborted) {
    try {
      await storeFailed(changes, failure);
      observe({ kind: 'collection.given-up', ...about, changes: changes.length, reason: failure.reason });
      return 'given up';
    } catch (error) {
      observe({ kind: 'collection.unavailable', ...about, error });
      await backOff.wait(closing).catch(() => undefined);
      if (closing.aborted) return 'again';
    }
  }
  return 'again';
}

function aboutChanges(changes: readonly RecordChange[], { functionName, options }: ChangeRunParts) {
  return { functionName, collection: options.collection, position: changes[0]?.position ?? 0 };
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
