import { expect, it } from 'vitest';
import { decodeBody } from './message-body.js';
import type { QueueMessage } from './storage-queue.js';
import { toDelivery } from './to-delivery.js';

const message: QueueMessage = {
  id: 'message-1',
  popReceipt: 'receipt-1',
  text: Buffer.from('{"id":5}').toString('base64'),
  dequeueCount: 2,
  insertedOn: new Date('2030-01-01T00:00:00Z'),
  expiresOn: new Date('2030-01-08T00:00:00Z'),
  nextVisibleOn: new Date('2030-01-01T00:10:00.250Z'),
};
const body = decodeBody(message.text, 'base64');

it('carries the text and the metadata under the names of the official host', () => {
  expect(toDelivery(message, body, { dataType: 'text' })).toEqual({
    data: '{"id":5}',
    metadata: {
      QueueTrigger: '{"id":5}',
      DequeueCount: 2,
      ExpirationTime: '2030-01-08T00:00:00+00:00',
      InsertionTime: '2030-01-01T00:00:00+00:00',
      NextVisibleTime: '2030-01-01T00:10:00.250+00:00',
      Id: 'message-1',
      PopReceipt: 'receipt-1',
    },
    deliveryCount: 2,
    traceparent: undefined,
  });
});

it('carries bytes when the function asks for them, or when they are no text', () => {
  expect(toDelivery(message, body, { dataType: 'bytes' }).data).toEqual(Buffer.from('{"id":5}'));
  const bytes = Buffer.from([0xff, 0x00]);
  const delivery = toDelivery(message, decodeBody(bytes.toString('base64'), 'base64'), { dataType: 'text' });
  expect(delivery.data).toEqual(bytes);
  expect(delivery.metadata).not.toHaveProperty('QueueTrigger');
});
