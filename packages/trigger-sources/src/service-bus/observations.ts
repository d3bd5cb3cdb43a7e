import { count, type Readers } from '@drover/service-kit';
import type { BusFailure } from './failures.js';

interface Place {
  /** The function of the trigger or output. */
  readonly functionName: string;
  readonly entity: string;
}

/** About one message, or about several of a batch: then with the id of the first. */
interface AboutMessages extends Place {
  readonly messages: number;
  readonly messageId: string;
  /** Number of deliveries, this one included; the highest of a batch. */
  readonly deliveryCount: number;
}

export type ServiceBusObservation =
  | (Place & { readonly kind: 'service-bus.listener'; readonly state: string })
  | (Place & { readonly kind: 'service-bus.received'; readonly messages: number })
  /** Delivered before. */
  | (AboutMessages & { readonly kind: 'service-bus.redelivered' })
  | (AboutMessages & { readonly kind: 'service-bus.completed' })
  /** Delivered again; `delayMs` is how long it stayed locked before. */
  | (AboutMessages & { readonly kind: 'service-bus.abandoned'; readonly delayMs: number })
  | (AboutMessages & { readonly kind: 'service-bus.dead-lettered'; readonly reason: string })
  /** The function settles its messages itself, and did not: delivered again when the lock expires. */
  | (AboutMessages & { readonly kind: 'service-bus.left' })
  | (AboutMessages & { readonly kind: 'service-bus.settled-by-function'; readonly outcome: string })
  /** Abandoned without a settlement, because the listener stopped. */
  | (AboutMessages & { readonly kind: 'service-bus.released'; readonly started: boolean })
  /** Another consumer may have it; its outcome here has no effect. */
  | (AboutMessages & { readonly kind: 'service-bus.lock-lost'; readonly error: unknown })
  /** It ran, but its settlement failed: it is delivered again when its lock expires. */
  | (AboutMessages & {
      readonly kind: 'service-bus.settlement-failed';
      readonly action: string;
      readonly error: unknown;
    })
  /** A defect: `deliver` must not reject. */
  | (AboutMessages & { readonly kind: 'service-bus.delivery-threw'; readonly error: unknown })
  /** Observed once per failure, until the entity is available again. */
  | (Place & {
      readonly kind: 'service-bus.unavailable';
      readonly failure: BusFailure;
      readonly setting: string;
      /** Without secrets. */
      readonly reason: string;
    })
  | (Place & { readonly kind: 'service-bus.available'; readonly afterMs: number })
  /** The service ended the receiver, which is not a failure: a new one takes over. `unsettled`: messages of the former one. */
  | (Place & { readonly kind: 'service-bus.receiver-replaced'; readonly unsettled: number })
  | (Place & {
      readonly kind: 'service-bus.session';
      readonly sessionId: string;
      readonly state: 'accepted' | 'released';
    })
  | (Place & { readonly kind: 'service-bus.sent'; readonly messages: number });

const byFunction = {
  labelNames: ['function', 'entity'],
  labels: (o: Place) => ({ function: o.functionName, entity: o.entity }),
} as const;

const counted = {
  ...byFunction,
  value: (o: Place & { readonly messages: number }) => o.messages,
};

const causes: Readonly<Record<BusFailure, (setting: string) => string>> = {
  'entity-missing': () => 'it does not exist or is disabled; create it, or correct its name',
  denied: (setting) => `access is denied; check the key in the setting ${setting}`,
  'lock-lost': () => 'its lock is lost',
  'no-session': () => 'no session is free',
  throttled: () => 'the namespace throttles requests',
  refused: () =>
    'the service rejects the receiver; isSessionsEnabled must be true if, and only if, the entity requires sessions',
  unavailable: (setting) => `the namespace of the setting ${setting} does not respond`,
};

const one = (o: AboutMessages): string =>
  o.messages === 1 ? `message ${o.messageId}` : `${o.messages} messages (first: ${o.messageId})`;

export const serviceBusReaders: Readers<ServiceBusObservation> = {
  'service-bus.listener': {
    level: 'debug',
    say: (o) => `the listener of ${o.functionName} on ${o.entity} is ${o.state}`,
  },
  'service-bus.received': {
    level: 'debug',
    say: (o) => `${o.functionName} received ${o.messages} messages from ${o.entity}`,
    metrics: [count('drover_service_bus_received_total', 'Messages received from Service Bus', counted)],
  },
  'service-bus.redelivered': {
    level: 'info',
    say: (o) => `${one(o)} of ${o.entity} is redelivered (delivery ${o.deliveryCount})`,
    metrics: [
      count('drover_service_bus_redelivered_total', 'Service Bus messages that had been delivered before', counted),
    ],
  },
  'service-bus.completed': {
    level: 'debug',
    say: (o) => `${one(o)} of ${o.entity} is complete`,
    metrics: [count('drover_service_bus_completed_total', 'Service Bus messages completed', counted)],
  },
  'service-bus.abandoned': {
    level: 'info',
    say: (o) => `${one(o)} of ${o.entity} is abandoned${o.delayMs > 0 ? ` after ${o.delayMs} ms` : ''}`,
    metrics: [
      count('drover_service_bus_abandoned_total', 'Service Bus messages that failed and will be redelivered', counted),
    ],
  },
  'service-bus.dead-lettered': {
    level: 'warn',
    say: (o) => `${one(o)} of ${o.entity} moved to its dead letters: ${o.reason}`,
    metrics: [count('drover_service_bus_dead_lettered_total', 'Service Bus messages dead-lettered', counted)],
  },
  'service-bus.left': {
    level: 'warn',
    say: (o) =>
      `${o.functionName} did not settle ${one(o)} of ${o.entity}, although autoCompleteMessages is false: delivered again when the lock expires`,
    metrics: [
      count('drover_service_bus_left_total', 'Service Bus messages that their function left unsettled', counted),
    ],
  },
  'service-bus.settled-by-function': {
    level: 'debug',
    say: (o) => `${o.functionName} settled ${one(o)} of ${o.entity}: ${o.outcome}`,
    metrics: [
      count<AboutMessages & { readonly outcome: string }, 'function' | 'entity' | 'outcome'>(
        'drover_service_bus_settled_by_function_total',
        'Service Bus messages that their function settled itself, by outcome',
        {
          labelNames: ['function', 'entity', 'outcome'],
          labels: (o) => ({ function: o.functionName, entity: o.entity, outcome: o.outcome }),
          value: (o) => o.messages,
        },
      ),
    ],
  },
  'service-bus.released': {
    level: 'info',
    say: (o) => `${one(o)} of ${o.entity} was released ${o.started ? 'while it ran' : 'before it ran'}`,
    metrics: [
      count('drover_service_bus_released_total', 'Service Bus messages released because a listener stopped', counted),
    ],
  },
  'service-bus.lock-lost': {
    level: 'warn',
    say: (o) => `the lock of ${one(o)} of ${o.entity} is lost, so it may run again: ${String(o.error)}`,
    metrics: [count('drover_service_bus_locks_lost_total', 'Service Bus messages whose lock was lost', counted)],
  },
  'service-bus.settlement-failed': {
    level: 'warn',
    say: (o) =>
      `the settlement (${o.action}) of ${one(o)} of ${o.entity} failed, so it will run again: ${String(o.error)}`,
    metrics: [
      count('drover_service_bus_settlements_failed_total', 'Service Bus messages whose settlement failed', counted),
    ],
  },
  'service-bus.delivery-threw': {
    level: 'error',
    say: (o) => `${one(o)} of ${o.entity} could not be delivered: ${String(o.error)}`,
  },
  'service-bus.unavailable': {
    level: 'warn',
    say: (o) => `${o.functionName} cannot use ${o.entity}: ${causes[o.failure](o.setting)}: ${o.reason}`,
    metrics: [
      count('drover_service_bus_unavailable_total', 'Times a Service Bus entity became unavailable', byFunction),
    ],
  },
  'service-bus.available': {
    level: 'info',
    say: (o) => `${o.functionName} can use ${o.entity} again, after ${Math.round(o.afterMs)} ms`,
  },
  'service-bus.receiver-replaced': {
    level: 'info',
    say: (o) =>
      `${o.functionName} receives from ${o.entity} with a new receiver: the service ended the former one; ${o.unsettled} of its messages are settled by their lock`,
    metrics: [
      count(
        'drover_service_bus_receivers_replaced_total',
        'Service Bus receivers replaced because the service ended them',
        byFunction,
      ),
    ],
  },
  'service-bus.session': {
    level: 'debug',
    say: (o) => `session ${o.sessionId} of ${o.entity} is ${o.state} by ${o.functionName}`,
  },
  'service-bus.sent': {
    level: 'debug',
    say: (o) => `${o.functionName} sent ${o.messages} messages to ${o.entity}`,
    metrics: [count('drover_service_bus_sent_total', 'Messages sent to Service Bus by output bindings', counted)],
  },
};
