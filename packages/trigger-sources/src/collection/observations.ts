import { count, type Readers } from '@drover/service-kit';

interface OfFunction {
  readonly functionName: string;
  readonly collection: string;
}

export type CollectionObservation =
  | (OfFunction & { readonly kind: 'collection.listener'; readonly state: string })
  | (OfFunction & { readonly kind: 'collection.unavailable'; readonly error: unknown })
  | (OfFunction & { readonly kind: 'collection.available'; readonly afterMs: number })
  | (OfFunction & { readonly kind: 'collection.started'; readonly position: number })
  | (OfFunction & { readonly kind: 'collection.completed'; readonly changes: number })
  | (OfFunction & {
      readonly kind: 'collection.redelivered';
      readonly position: number;
      readonly delayMs: number;
      readonly deliveryCount: number;
    })
  | (OfFunction & {
      readonly kind: 'collection.given-up';
      readonly position: number;
      readonly changes: number;
      readonly reason: string;
    })
  | (OfFunction & { readonly kind: 'collection.replayed'; readonly position: number })
  | (OfFunction & { readonly kind: 'collection.changes-missed'; readonly position: number })
  /** A defect: `deliver` must not reject. */
  | (OfFunction & { readonly kind: 'collection.delivery-threw'; readonly position: number; readonly error: unknown });

const byFunction = {
  labelNames: ['function'],
  labels: (o: OfFunction) => ({ function: o.functionName }),
} as const;

export const collectionReaders: Readers<CollectionObservation> = {
  'collection.listener': {
    level: 'debug',
    say: (o) => `the listener of ${o.functionName} to the collection ${o.collection} is ${o.state}`,
  },
  'collection.unavailable': {
    level: 'warn',
    say: (o) =>
      `the collection ${o.collection} of ${o.functionName} cannot be read, and is read again until it can: ${String(o.error)}`,
  },
  'collection.available': {
    level: 'info',
    say: (o) => `the collection ${o.collection} of ${o.functionName} is read again after ${Math.round(o.afterMs)} ms`,
  },
  'collection.started': {
    level: 'debug',
    say: (o) => `${o.functionName} takes changes of ${o.collection} after position ${o.position} here`,
  },
  'collection.completed': {
    level: 'debug',
    say: (o) => `${o.functionName} has run for ${o.changes} changes of ${o.collection}`,
    metrics: [
      count<OfFunction & { readonly changes: number }, 'function'>(
        'drover_collection_trigger_changes_total',
        'Changes of records that functions have run for',
        { ...byFunction, value: (o) => o.changes },
      ),
    ],
  },
  'collection.redelivered': {
    level: 'warn',
    say: (o) =>
      `the change ${o.position} of ${o.collection} runs again on ${o.functionName} in ${Math.round(o.delayMs)} ms (delivery ${o.deliveryCount} failed)`,
    metrics: [
      count('drover_collection_trigger_redelivered_total', 'Changes of records that were delivered again', byFunction),
    ],
  },
  'collection.given-up': {
    level: 'error',
    say: (o) =>
      `${o.functionName} gave up ${o.changes} changes of ${o.collection} from position ${o.position} on: ${o.reason}. List them with "drover failed-changes list", and deliver them again with "drover failed-changes replay"`,
    metrics: [
      count(
        'drover_collection_trigger_passed_over_total',
        'Changes of records that were given up, because their function failed too often',
        byFunction,
      ),
    ],
  },
  'collection.replayed': {
    level: 'info',
    say: (o) => `${o.functionName} has run for the change ${o.position} of ${o.collection} that it had given up`,
    metrics: [
      count(
        'drover_collection_trigger_replayed_total',
        'Changes of records that functions had given up and have run for later',
        byFunction,
      ),
    ],
  },
  'collection.changes-missed': {
    level: 'error',
    say: (o) =>
      `${o.functionName} missed changes of ${o.collection} after position ${o.position}: it was away for longer than they are kept`,
  },
  'collection.delivery-threw': {
    level: 'error',
    say: (o) =>
      `the change ${o.position} of ${o.collection} could not be delivered to ${o.functionName}: ${String(o.error)}`,
  },
};
