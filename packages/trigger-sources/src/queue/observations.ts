import { count, type Readers } from '@drover/service-kit';
import type { QueueFailure } from './storage-queue.js';

interface Place {
  /** Whose trigger or output it is. */
  readonly functionName: string;
  readonly queue: string;
}

interface AboutMessage extends Place {
  readonly messageId: string;
  /** How often it was handed out, this time included. */
  readonly deliveryCount: number;
}

export type QueueObservation =
  | (Place & { readonly kind: 'queue.listener'; readonly state: string })
  | (Place & { readonly kind: 'queue.received'; readonly messages: number })
  /** Handed out for a second time, or an even later one. */
  | (AboutMessage & { readonly kind: 'queue.redelivered' })
  | (AboutMessage & { readonly kind: 'queue.completed' })
  /** Comes back: after `delayMs`, or with the end of its lease when that is undefined. */
  | (AboutMessage & { readonly kind: 'queue.abandoned'; readonly delayMs: number | undefined })
  | (AboutMessage & { readonly kind: 'queue.poisoned'; readonly poisonQueue: string; readonly reason: string })
  /** Given back without an outcome, because the listener goes away. */
  | (AboutMessage & { readonly kind: 'queue.released'; readonly started: boolean })
  /** Another one may have it now; what became of it here does not count. */
  | (AboutMessage & { readonly kind: 'queue.lease-lost'; readonly error: unknown })
  /** It ran, but the service did not take what became of it: it comes back when its lease runs out. */
  | (AboutMessage & { readonly kind: 'queue.settlement-failed'; readonly action: string; readonly error: unknown })
  /** A defect of ours: `deliver` never throws. */
  | (AboutMessage & { readonly kind: 'queue.delivery-threw'; readonly error: unknown })
  /** Said once a listener. */
  | (AboutMessage & { readonly kind: 'queue.not-base64' })
  /** Said once: until it was there. */
  | (Place & { readonly kind: 'queue.missing' })
  /** Said once until it is over, and again when it changes. */
  | (Place & { readonly kind: 'queue.unavailable'; readonly failure: QueueFailure; readonly error: unknown })
  | (Place & { readonly kind: 'queue.available'; readonly afterMs: number })
  /** Made because something had to be sent there. */
  | (Place & { readonly kind: 'queue.created' })
  | (Place & { readonly kind: 'queue.sent'; readonly messages: number });

const byFunction = {
  labelNames: ['function', 'queue'],
  labels: (o: Place) => ({ function: o.functionName, queue: o.queue }),
} as const;

const remedies: Readonly<Record<QueueFailure, string>> = {
  denied: 'check the key or signature of its connection',
  throttled: 'the storage account is asked for more than it gives',
  refused: 'the service does not take our requests',
  unavailable: 'the storage account does not answer',
  'queue-missing': 'the queue does not exist',
  'message-gone': 'the message does not exist',
  'receipt-outdated': 'another one has the message',
};

export const queueReaders: Readers<QueueObservation> = {
  'queue.listener': { level: 'debug', say: (o) => `${o.functionName} at queue ${o.queue} is ${o.state}` },
  'queue.received': {
    level: 'debug',
    say: (o) => `${o.functionName} got ${o.messages} messages from queue ${o.queue}`,
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
    say: (o) => `message ${o.messageId} of queue ${o.queue} came for the ${o.deliveryCount}. time`,
    metrics: [count('drover_queue_redelivered_total', 'Messages that had been handed out before', byFunction)],
  },
  'queue.completed': {
    level: 'debug',
    say: (o) => `message ${o.messageId} of queue ${o.queue} is done`,
    metrics: [count('drover_queue_completed_total', 'Messages done and deleted', byFunction)],
  },
  'queue.abandoned': {
    level: 'info',
    say: (o) =>
      `message ${o.messageId} of queue ${o.queue} comes back ${o.delayMs === undefined ? 'when its lease ends' : `in ${o.delayMs} ms`}`,
    metrics: [count('drover_queue_abandoned_total', 'Messages that failed and will come back', byFunction)],
  },
  'queue.poisoned': {
    level: 'warn',
    say: (o) => `message ${o.messageId} of queue ${o.queue} moved to ${o.poisonQueue}: ${o.reason}`,
    metrics: [count('drover_queue_poisoned_total', 'Messages moved to a poison queue', byFunction)],
  },
  'queue.released': {
    level: 'info',
    say: (o) => `message ${o.messageId} of queue ${o.queue} was given back ${o.started ? 'unfinished' : 'untouched'}`,
    metrics: [count('drover_queue_released_total', 'Messages given back because a listener stopped', byFunction)],
  },
  'queue.lease-lost': {
    level: 'warn',
    say: (o) => `message ${o.messageId} of queue ${o.queue} is no longer ours, and will run again: ${String(o.error)}`,
    metrics: [count('drover_queue_leases_lost_total', 'Messages that went to another one while they ran', byFunction)],
  },
  'queue.settlement-failed': {
    level: 'warn',
    say: (o) => `message ${o.messageId} of queue ${o.queue} will run again, ${o.action} failed: ${String(o.error)}`,
    metrics: [count('drover_queue_settlements_failed_total', 'Messages that could not be settled in time', byFunction)],
  },
  'queue.delivery-threw': {
    level: 'error',
    say: (o) => `message ${o.messageId} of queue ${o.queue} was not run: ${String(o.error)}`,
  },
  'queue.not-base64': {
    level: 'warn',
    say: (o) => `queue ${o.queue} has messages that are no base64: taken as text (messageEncoding "none" expects that)`,
  },
  'queue.missing': { level: 'warn', say: (o) => `${o.functionName} waits for queue ${o.queue}, which does not exist` },
  'queue.unavailable': {
    level: 'warn',
    say: (o) => `${o.functionName} cannot use queue ${o.queue}, ${remedies[o.failure]}: ${String(o.error)}`,
    metrics: [count('drover_queue_unavailable_total', 'Times that a queue could not be used', byFunction)],
  },
  'queue.available': {
    level: 'info',
    say: (o) => `${o.functionName} can use queue ${o.queue} again, after ${Math.round(o.afterMs)} ms`,
  },
  'queue.created': { level: 'info', say: (o) => `made queue ${o.queue}, to which ${o.functionName} sends` },
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
