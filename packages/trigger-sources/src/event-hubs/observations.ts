import { count, gauge, type Readers } from '@drover/service-kit';
import type { HubFailure } from './hub-failure.js';

interface Place {
  /** The function of the trigger or output. */
  readonly functionName: string;
  readonly hub: string;
}

interface AboutPartition extends Place {
  readonly partitionId: string;
}

interface AboutBatch extends AboutPartition {
  readonly events: number;
  readonly firstSequenceNumber: number;
  readonly deliveryCount: number;
}

export type EventHubObservation =
  | (Place & { readonly kind: 'event-hub.listener'; readonly state: string })
  /** This runtime reads the partition from now on. */
  | (AboutPartition & { readonly kind: 'event-hub.claimed'; readonly from: string })
  /** Another runtime reads the partition, or it was given back. Unfinished batches run again there. */
  | (AboutPartition & { readonly kind: 'event-hub.released'; readonly reason: string; readonly unfinished: number })
  | (Place & { readonly kind: 'event-hub.owned'; readonly partitions: number })
  | (AboutBatch & { readonly kind: 'event-hub.completed' })
  | (AboutBatch & { readonly kind: 'event-hub.redelivered'; readonly delayMs: number })
  | (AboutBatch & { readonly kind: 'event-hub.passed-over'; readonly reason: string })
  | (AboutBatch & { readonly kind: 'event-hub.dead-lettered'; readonly target: string; readonly reason: string })
  | (AboutBatch & { readonly kind: 'event-hub.dead-letter-failed'; readonly target: string; readonly error: unknown })
  /** A defect: `deliver` must not reject. */
  | (AboutBatch & { readonly kind: 'event-hub.delivery-threw'; readonly error: unknown })
  | (AboutPartition & { readonly kind: 'event-hub.checkpointed'; readonly sequenceNumber: number })
  /** Events left the log before they were processed. */
  | (AboutPartition & { readonly kind: 'event-hub.expired'; readonly events: number })
  /** The checkpoint belongs to a hub that was deleted. */
  | (AboutPartition & { readonly kind: 'event-hub.recreated' })
  /** Two functions share a consumer group, so each event runs one of them. */
  | (Place & { readonly kind: 'event-hub.group-shared'; readonly consumerGroup: string; readonly other: string })
  /** Observed once per failure, until the hub is available again. */
  | (Place & {
      readonly kind: 'event-hub.unavailable';
      readonly failure: HubFailure;
      readonly setting: string;
      readonly error: unknown;
    })
  | (Place & { readonly kind: 'event-hub.available'; readonly afterMs: number })
  /** Observed once until the store is available again. */
  | (Place & { readonly kind: 'event-hub.store-unavailable'; readonly store: string; readonly error: unknown })
  | (Place & { readonly kind: 'event-hub.store-available'; readonly store: string; readonly afterMs: number })
  | (Place & { readonly kind: 'event-hub.sent'; readonly events: number });

const byFunction = {
  labelNames: ['function', 'hub'],
  labels: (o: Place) => ({ function: o.functionName, hub: o.hub }),
} as const;
const counted = {
  ...byFunction,
  value: (o: { readonly events: number }) => o.events,
};
const countEvents = (name: string, help: string) =>
  count<Place & { readonly events: number }, 'function' | 'hub'>(name, help, counted);

const causes: Readonly<Record<HubFailure, (setting: string) => string>> = {
  denied: (setting) => `access is denied; correct the key or signature in the setting ${setting}`,
  missing: () => 'the hub or its consumer group does not exist; create it, or correct its name',
  stolen: () =>
    'another reader of the consumer group disconnects this one; give each application its own consumer group',
  throttled: () => 'the namespace is busy',
  refused: () => 'the service rejects the request',
  unavailable: (setting) =>
    `the service does not respond; check that the address in the setting ${setting} is reachable`,
};

const batch = (o: AboutBatch): string =>
  `${o.events} events of hub ${o.hub}, partition ${o.partitionId}, from number ${o.firstSequenceNumber}`;

export const eventHubReaders: Readers<EventHubObservation> = {
  'event-hub.listener': {
    level: 'debug',
    say: (o) => `the listener of ${o.functionName} on hub ${o.hub} is ${o.state}`,
  },
  'event-hub.claimed': {
    level: 'info',
    say: (o) => `${o.functionName} reads partition ${o.partitionId} of hub ${o.hub} ${o.from}`,
  },
  'event-hub.released': {
    level: 'info',
    say: (o) =>
      `${o.functionName} no longer reads partition ${o.partitionId} of hub ${o.hub} (${o.reason}); ${o.unfinished} unfinished events run again`,
    metrics: [
      count<AboutPartition & { readonly unfinished: number }, 'function' | 'hub'>(
        'drover_event_hub_interrupted_total',
        'Events whose run was interrupted because their partition was released',
        { ...byFunction, value: (o) => o.unfinished },
      ),
    ],
  },
  'event-hub.owned': {
    level: 'debug',
    say: (o) => `${o.functionName} owns ${o.partitions} partitions of hub ${o.hub}`,
    metrics: [
      gauge<Place & { readonly partitions: number }, 'function' | 'hub'>(
        'drover_event_hub_partitions',
        'Partitions that this runtime reads',
        { ...byFunction, value: (o) => o.partitions },
      ),
    ],
  },
  'event-hub.completed': {
    level: 'debug',
    say: (o) => `${o.functionName} processed ${batch(o)}`,
    metrics: [countEvents('drover_event_hub_completed_total', 'Events processed')],
  },
  'event-hub.redelivered': {
    level: 'warn',
    say: (o) => `${batch(o)} are delivered again in ${Math.round(o.delayMs)} ms (delivery ${o.deliveryCount} failed)`,
    metrics: [countEvents('drover_event_hub_redelivered_total', 'Events delivered again after a failure')],
  },
  'event-hub.passed-over': {
    level: 'warn',
    say: (o) => `${o.functionName} passes over ${batch(o)}: ${o.reason}`,
    metrics: [countEvents('drover_event_hub_passed_over_total', 'Events passed over because their function failed')],
  },
  'event-hub.dead-lettered': {
    level: 'warn',
    say: (o) => `${batch(o)} are copied to hub ${o.target}: ${o.reason}`,
    metrics: [countEvents('drover_event_hub_dead_lettered_total', 'Events copied to a dead-letter hub')],
  },
  'event-hub.dead-letter-failed': {
    level: 'warn',
    say: (o) => `${batch(o)} cannot be copied to hub ${o.target}, which is tried again: ${String(o.error)}`,
  },
  'event-hub.delivery-threw': { level: 'error', say: (o) => `${batch(o)} could not be delivered: ${String(o.error)}` },
  'event-hub.checkpointed': {
    level: 'debug',
    say: (o) => `checkpoint ${o.sequenceNumber} of partition ${o.partitionId} of hub ${o.hub}`,
    metrics: [count('drover_event_hub_checkpoints_total', 'Checkpoints written', byFunction)],
  },
  'event-hub.expired': {
    level: 'warn',
    say: (o) =>
      `${o.events} events of partition ${o.partitionId} of hub ${o.hub} left the log before ${o.functionName} processed them`,
    metrics: [countEvents('drover_event_hub_expired_total', 'Events that left the log unprocessed')],
  },
  'event-hub.recreated': {
    level: 'warn',
    say: (o) =>
      `the checkpoint of partition ${o.partitionId} belongs to a former hub ${o.hub}; ${o.functionName} reads the new one from its initial offset`,
  },
  'event-hub.group-shared': {
    level: 'warn',
    say: (o) =>
      `${o.functionName} and ${o.other} share consumer group ${o.consumerGroup} of hub ${o.hub}, so each event runs only one of them. Give each function its own consumer group`,
  },
  'event-hub.unavailable': {
    level: (o) => (o.failure === 'denied' ? 'error' : 'warn'),
    say: (o) => `${o.functionName} cannot use hub ${o.hub}: ${causes[o.failure](o.setting)}: ${String(o.error)}`,
    metrics: [count('drover_event_hub_unavailable_total', 'Times an event hub became unavailable', byFunction)],
  },
  'event-hub.available': {
    level: 'info',
    say: (o) => `${o.functionName} can use hub ${o.hub} again, after ${Math.round(o.afterMs)} ms`,
  },
  'event-hub.store-unavailable': {
    level: 'warn',
    say: (o) =>
      `${o.functionName} cannot write checkpoints of hub ${o.hub} to ${o.store}, and tries again: ${String(o.error)}`,
  },
  'event-hub.store-available': {
    level: 'info',
    say: (o) =>
      `${o.functionName} can write checkpoints of hub ${o.hub} to ${o.store} again, after ${Math.round(o.afterMs)} ms`,
  },
  'event-hub.sent': {
    level: 'debug',
    say: (o) => `${o.functionName} sent ${o.events} events to hub ${o.hub}`,
    metrics: [countEvents('drover_event_hub_sent_total', 'Events sent by output bindings')],
  },
};
