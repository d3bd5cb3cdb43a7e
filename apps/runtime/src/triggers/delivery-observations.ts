import { count, type Readers } from '@drover/service-kit';

export interface DeliveryObservation {
  readonly kind: 'message.settled';
  readonly function: string;
  readonly settlement: 'complete' | 'abandon' | 'deadLetter';
  readonly deliveryCount: number;
  /** Undefined when the message is complete. */
  readonly why: string | undefined;
}

export const deliveryReaders: Readers<DeliveryObservation> = {
  'message.settled': {
    level: (o) => (o.settlement === 'complete' ? 'debug' : 'warn'),
    say: (o) =>
      `a message of ${o.function} was settled: ${o.settlement}${o.why === undefined ? '' : ` (delivery ${o.deliveryCount}): ${o.why}`}`,
    metrics: [
      count('drover_runtime_messages_settled_total', 'Trigger messages by settlement', {
        labelNames: ['function', 'settlement'],
        labels: (o) => ({ function: o.function, settlement: o.settlement }),
      }),
      count('drover_runtime_messages_redelivered_total', 'Trigger messages that had been delivered before', {
        labelNames: ['function'],
        labels: (o) => ({ function: o.function }),
        value: (o) => (o.deliveryCount > 1 ? 1 : 0),
      }),
    ],
  },
};
