import type { EmulatedService } from '@drover/azure-emulators';
import type { Pace } from './suite.js';

/** One way to trigger a function. */
export type TriggerKind = 'queue' | 'service-bus' | 'service-bus-many' | 'event-hub' | 'event-hub-many';

interface TriggerFacts {
  readonly label: string;
  readonly service: EmulatedService;
  readonly messages: (pace: Pace) => number;
  /** Messages per second beside the bare SDK. */
  readonly leastRatio?: number;
  /** Idle, from sent to the function. */
  readonly mostIdleMs?: number;
}

export const triggerKinds: Readonly<Record<TriggerKind, TriggerFacts>> = {
  queue: { label: 'queue', service: 'queues', messages: (pace) => pace.queueMessages, leastRatio: 0.8 },
  'service-bus': {
    label: 'Service Bus',
    service: 'service-bus',
    messages: (pace) => pace.serviceBusMessages,
    leastRatio: 0.8,
    mostIdleMs: 5,
  },
  'service-bus-many': {
    label: 'Service Bus, batches',
    service: 'service-bus',
    messages: (pace) => pace.serviceBusMessages,
    leastRatio: 0.8,
  },
  'event-hub': {
    label: 'Event Hubs, single',
    service: 'event-hubs',
    messages: (pace) => pace.serviceBusMessages,
    mostIdleMs: 5,
  },
  'event-hub-many': {
    label: 'Event Hubs, batches',
    service: 'event-hubs',
    messages: (pace) => pace.events,
    leastRatio: 0.9,
  },
};
