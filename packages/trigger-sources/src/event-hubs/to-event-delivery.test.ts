import { describe, expect, it } from 'vitest';
import { hubEvent } from './hub-event.test.fixture.js';
import { toEventDelivery } from './to-event-delivery.js';

const place = { host: 'shop.servicebus.windows.net', hub: 'orders', consumerGroup: '$Default', partitionId: '3' };
const context = {
  FullyQualifiedNamespace: 'shop.servicebus.windows.net',
  EventHubName: 'orders',
  ConsumerGroup: '$Default',
  PartitionId: '3',
};
const event = hubEvent(7, {
  partitionKey: 'k',
  properties: { tries: 2, traceparent: '00-1-2-01' },
  systemProperties: { SequenceNumber: 7, 'content-type': 'text/plain' },
});

describe('the delivery of events', () => {
  it('has the metadata of one event', () => {
    expect(toEventDelivery({ place, events: [event], isBatch: false, deliveryCount: 1 })).toEqual({
      data: event.body,
      metadata: {
        PartitionContext: context,
        PartitionKey: 'k',
        Offset: '700',
        SequenceNumber: 7,
        EnqueuedTimeUtc: '1970-01-01T00:00:07.000Z',
        Properties: { tries: 2, traceparent: '00-1-2-01' },
        SystemProperties: { SequenceNumber: 7, 'content-type': 'text/plain' },
      },
      deliveryCount: 1,
      id: 'orders/$Default/3/7-7',
      traceparent: '00-1-2-01',
    });
  });

  it('has arrays in the metadata of a batch', () => {
    const events = [event, hubEvent(8)];
    const delivery = toEventDelivery({ place, events, isBatch: true, deliveryCount: 2 });
    expect(delivery).toMatchObject({
      data: [event.body, Buffer.from('event 8')],
      deliveryCount: 2,
      id: 'orders/$Default/3/7-8',
      traceparent: undefined,
    });
    expect(Object.keys(delivery.metadata).toSorted()).toEqual([
      'EnqueuedTimeUtcArray',
      'OffsetArray',
      'PartitionContext',
      'PartitionKeyArray',
      'PropertiesArray',
      'SequenceNumberArray',
      'SystemPropertiesArray',
    ]);
    expect(delivery.metadata).toMatchObject({
      PartitionKeyArray: ['k', null],
      OffsetArray: ['700', '800'],
      SequenceNumberArray: [7, 8],
      PropertiesArray: [{ tries: 2 }, {}],
      SystemPropertiesArray: [{ SequenceNumber: 7 }, {}],
    });
  });

  it('is a batch of one, and all text or all bytes', () => {
    const texts = [hubEvent(1, { body: 'a' }), hubEvent(2, { body: 'b' })];
    expect(toEventDelivery({ place, events: texts, isBatch: true, deliveryCount: 1 }).data).toEqual(['a', 'b']);
    const mixed = [hubEvent(1, { body: 'a' }), hubEvent(2, { body: Buffer.of(0xff) })];
    expect(toEventDelivery({ place, events: mixed, isBatch: true, deliveryCount: 1 }).data).toEqual([
      Buffer.from('a'),
      Buffer.of(0xff),
    ]);
    const [one] = texts;
    if (one) expect(toEventDelivery({ place, events: [one], isBatch: true, deliveryCount: 1 }).data).toEqual(['a']);
  });
});
