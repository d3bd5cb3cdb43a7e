import type { Delivery } from '../trigger-source.js';
import type { DecodedBody } from './message-body.js';
import type { QueueOptions } from './queue-options.js';
import type { QueueMessage } from './storage-queue.js';

/** A message as its function sees it. Bytes that are no text stay bytes, whatever the function asked for. */
export function toDelivery(
  message: QueueMessage,
  { text, bytes }: DecodedBody,
  { dataType }: Pick<QueueOptions, 'dataType'>,
): Delivery {
  return {
    data: dataType === 'bytes' || text === undefined ? bytes : text,
    metadata: {
      ...(text !== undefined && { QueueTrigger: text }),
      DequeueCount: message.dequeueCount,
      ExpirationTime: withOffset(message.expiresOn),
      InsertionTime: withOffset(message.insertedOn),
      NextVisibleTime: withOffset(message.nextVisibleOn),
      Id: message.id,
      PopReceipt: message.popReceipt,
    },
    deliveryCount: message.dequeueCount,
    traceparent: undefined,
  };
}

/** `2030-01-01T00:00:00+00:00`: how the official host writes times, fractions only where there are some. */
function withOffset(time: Date): string {
  return time.toISOString().replace(/(\.000)?Z$/, '+00:00');
}
