import { count, type Readers } from '@drover/service-kit';
import { describeStorageFailure } from '../storage/storage-failure.js';
import type { QueueFailure } from './storage-queue.js';

interface Place {
  /** The function of the trigger or output. */
  readonly functionName: string;
  readonly queue: string;
}

interface AboutMessage extends Place {
  readonly messageId: string;
  /** Number of deliveries, this one included. */
  readonly deliveryCount: number;
}

export type QueueObservation =
  | (Place & { readonly kind: 'queue.listener'; readonly state: string })
  | (Place & { readonly kind: 'queue.received'; readonly messages: number })
  /** Delivered before. */
  | (AboutMessage & { readonly kind: 'queue.redelivered' })
  | (AboutMessage & { readonly kind: 'queue.completed' })
  /** Delivered again after `delayMs`; undefined: when its lease expires. */
  | (AboutMessage & { readonly kind: 'queue.abandoned'; readonly delayMs: number | undefined })
  | (AboutMessage & { readonly kind: 'queue.poisoned'; readonly poisonQueue: string; readonly reason: string })
  /** Made visible again without a settlement, because the listener stopped. */
  | (AboutMessage & { readonly kind: 'queue.released'; readonly started: boolean })
  /** Another consumer may have it; its outcome here has no effect. */
  | (AboutMessage & { readonly kind: 'queue.lease-lost'; readonly error: unknown })
  /** It ran, but its settlement failed: it is delivered again when its lease expires. */
  | (AboutMessage & { readonly kind: 'queue.settlement-failed'; readonly action: string; readonly error: unknown })
  /** A defect: `deliver` must not reject. */
  | (AboutMessage & { readonly kind: 'queue.delivery-threw'; readonly error: unknown })
  /** Observed once per listener. */
  | (AboutMessage & { readonly kind: 'queue.not-base64' })
  /** Observed once until the queue exists. */
  | (Place & { readonly kind: 'queue.missing' })
  /** Observed once per failure, until the queue is available again. */
  | (Place & {
      readonly kind: 'queue.unavailable';
      /** The setting with the connection. */
      readonly setting: string;
      readonly failure: QueueFailure;
      readonly error: unknown;
    })
  | (Place & { readonly kind: 'queue.available'; readonly afterMs: number })
  /** Created because a message had to be sent to it. */
  | (Place & { readonly kind: 'queue.created' })
  | (Place & { readonly kind: 'queue.sent'; readonly messages: number });

const byFunction = {
  labelNames: ['function', 'queue'],
  labels: (o: Place) => ({ function: o.functionName, queue: o.queue }),
} as const;

function causeOf(failure: QueueFailure, setting: string): string {
  switch (failure) {
    case 'queue-missing':
      return 'the queue does not exist';
    case 'message-gone':
      return 'the message does not exist';
    case 'receipt-outdated':
      return 'another consumer has the message';
    default:
      return describeStorageFailure(failure, setting);
  }
}

export const queueReaders: Readers<QueueObservation> = {
  'queue.listener': {
    level: 'debug',
    say: (o) => `the listener of ${o.functionName} on queue ${o.queue} is ${o.state}`,
  },
  'queue.received': {
    level: 'debug',
    say: (o) => `${o.functionName} received ${o.messages} messages from queue ${o.queue}`,
    metrics: [
      count<Place & { readonly messages: number }, 'function' | 'queue'>(
        'drover_queue_received_total',
        'Messages received from storage queues',
        { ...byFunction, value: (o) => o.messages },
      ),
    ],
  },
  'queue.redelivered': {
    level: 'info',
    say: (o) => `message ${o.messageId} of queue ${o.queue} is redelivered (delivery ${o.deliveryCount})`,
    metrics: [count('drover_queue_redelivered_total', 'Messages that had been delivered before', byFunction)],
  },
  'queue.completed': {
    level: 'debug',
    say: (o) => `message ${o.messageId} of queue ${o.queue} is complete`,
    metrics: [count('drover_queue_completed_total', 'Messages completed and deleted', byFunction)],
  },
  'queue.abandoned': {
    level: 'info',
    say: (o) =>
      `message ${o.messageId} of queue ${o.queue} is abandoned and becomes visible ${o.delayMs === undefined ? 'when its lease expires' : `in ${o.delayMs} ms`}`,
    metrics: [count('drover_queue_abandoned_total', 'Messages that failed and will be redelivered', byFunction)],
  },
  'queue.poisoned': {
    level: 'warn',
    say: (o) => `message ${o.messageId} of queue ${o.queue} moved to ${o.poisonQueue}: ${o.reason}`,
    metrics: [count('drover_queue_poisoned_total', 'Messages moved to a poison queue', byFunction)],
  },
  'queue.released': {
    level: 'info',
    say: (o) =>
      `message ${o.messageId} of queue ${o.queue} was released ${o.started ? 'while it ran' : 'before it ran'}`,
    metrics: [count('drover_queue_released_total', 'Messages released because a listener stopped', byFunction)],
  },
  'queue.lease-lost': {
    level: 'warn',
    say: (o) =>
      `the lease of message ${o.messageId} of queue ${o.queue} is lost, so it will run again: ${String(o.error)}`,
    metrics: [count('drover_queue_leases_lost_total', 'Messages whose lease was lost while they ran', byFunction)],
  },
  'queue.settlement-failed': {
    level: 'warn',
    say: (o) =>
      `the settlement (${o.action}) of message ${o.messageId} of queue ${o.queue} failed, so it will run again: ${String(o.error)}`,
    metrics: [count('drover_queue_settlements_failed_total', 'Messages whose settlement failed', byFunction)],
  },
  'queue.delivery-threw': {
    level: 'error',
    say: (o) => `message ${o.messageId} of queue ${o.queue} could not be delivered: ${String(o.error)}`,
  },
  'queue.not-base64': {
    level: 'warn',
    say: (o) =>
      `queue ${o.queue} has messages that are not base64; they are read as text (set messageEncoding to "none" to expect this)`,
  },
  'queue.missing': { level: 'warn', say: (o) => `${o.functionName} waits for queue ${o.queue}, which does not exist` },
  'queue.unavailable': {
    level: 'warn',
    say: (o) => `${o.functionName} cannot use queue ${o.queue}: ${causeOf(o.failure, o.setting)}: ${String(o.error)}`,
    metrics: [count('drover_queue_unavailable_total', 'Times a queue became unavailable', byFunction)],
  },
  'queue.available': {
    level: 'info',
    say: (o) => `${o.functionName} can use queue ${o.queue} again, after ${Math.round(o.afterMs)} ms`,
  },
  'queue.created': { level: 'info', say: (o) => `created queue ${o.queue}, an output of ${o.functionName}` },
  'queue.sent': {
    level: 'debug',
    say: (o) => `${o.functionName} sent ${o.messages} messages to queue ${o.queue}`,
    metrics: [
      count<Place & { readonly messages: number }, 'function' | 'queue'>(
        'drover_queue_sent_total',
        'Messages sent by output bindings',
        { ...byFunction, value: (o) => o.messages },
      ),
    ],
  },
};
