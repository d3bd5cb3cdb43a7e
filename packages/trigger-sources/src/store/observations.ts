import { count, type Readers } from '@drover/service-kit';

/** Where the state of triggers is. */
export type StoreKind = 'postgresql' | 'blobs' | 'memory';

export type TriggerStoreObservation =
  | { readonly kind: 'trigger-store.opened'; readonly store: StoreKind }
  /** Observed once until the store is available again. */
  | {
      readonly kind: 'trigger-store.unavailable';
      readonly store: StoreKind;
      readonly operation: string;
      readonly error: unknown;
    }
  | { readonly kind: 'trigger-store.available'; readonly store: StoreKind; readonly afterMs: number }
  /** `after` says how: it was free, or its holder was silent for the whole time to live. */
  | { readonly kind: 'lease.acquired'; readonly key: string; readonly after: 'free' | 'silence' }
  /** Another runtime has it, or it could not be renewed in time. */
  | { readonly kind: 'lease.lost'; readonly key: string; readonly reason: 'taken' | 'expired' };

const byStore = {
  labelNames: ['store'],
  labels: (o: { readonly store: StoreKind }) => ({ store: o.store }),
} as const;

const names: Readonly<Record<StoreKind, string>> = {
  postgresql: 'PostgreSQL',
  blobs: 'the storage account of AzureWebJobsStorage',
  memory: 'memory',
};

export const triggerStoreReaders: Readers<TriggerStoreObservation> = {
  'trigger-store.opened': {
    level: (o) => (o.store === 'memory' ? 'warn' : 'debug'),
    say: (o) =>
      o.store === 'memory'
        ? 'the state of triggers is only in memory: schedules, checkpoints and receipts are lost at a restart, and other runtimes do not see them. Set DATABASE_URL, or AzureWebJobsStorage in the settings of the application'
        : `the state of triggers is in ${names[o.store]}`,
  },
  'trigger-store.unavailable': {
    level: 'warn',
    say: (o) => `the state of triggers in ${names[o.store]} is unavailable (${o.operation}): ${String(o.error)}`,
    metrics: [
      count('drover_trigger_store_unavailable_total', 'Times the store of trigger state became unavailable', byStore),
    ],
  },
  'trigger-store.available': {
    level: 'info',
    say: (o) => `the state of triggers in ${names[o.store]} is available again, after ${Math.round(o.afterMs)} ms`,
  },
  'lease.acquired': {
    level: 'debug',
    say: (o) =>
      o.after === 'free' ? `acquired the lease ${o.key}` : `took over the lease ${o.key}: its holder does not renew it`,
    metrics: [
      count('drover_trigger_leases_acquired_total', 'Leases of triggers that this runtime acquired', {
        labelNames: ['after'],
        labels: (o) => ({ after: o.after }),
      }),
    ],
  },
  'lease.lost': {
    level: 'warn',
    say: (o) =>
      o.reason === 'taken'
        ? `lost the lease ${o.key}: another runtime has it`
        : `lost the lease ${o.key}: it could not be renewed in time`,
    metrics: [
      count('drover_trigger_leases_lost_total', 'Leases of triggers that this runtime lost', {
        labelNames: ['reason'],
        labels: (o) => ({ reason: o.reason }),
      }),
    ],
  },
};
