import type { Delivery } from '../trigger-source.js';
import type { DecodedBody } from './message-body.js';
import type { QueueOptions } from './queue-options.js';
import type { QueueMessage } from './storage-queue.js';

/** Converts a message into a delivery. Bytes that are not UTF-8 stay bytes, whatever the data type of the function. */
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

/** Formats a time as the official host does: `2030-01-01T00:00:00+00:00`, with a fraction only if it has one. */
function withOffset(time: Date): string {
  return time.toISOString().replace(/(\.000)?Z$/, '+00:00');
}
