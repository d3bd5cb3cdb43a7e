import type { ServiceBusReceivedMessage } from '@azure/service-bus';
import { describe, expect, it } from 'vitest';
import { ofSdkMessage, type BusMessage } from './bus-message.js';
import { toBusBatch, toBusDelivery } from './to-bus-delivery.js';

const received = (fields: Partial<Record<keyof ServiceBusReceivedMessage, unknown>> = {}): BusMessage =>
  ofSdkMessage({
    body: Buffer.from('{"id":5}'),
    state: 'active',
    deliveryCount: 0,
    _rawAmqpMessage: { bodyType: 'data' },
    ...fields,
  } as unknown as ServiceBusReceivedMessage); // the SDK creates messages only from the wire

const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe('a Service Bus delivery', () => {
  it('has the metadata of the guide, without what the message has not', () => {
    const message = received({
      messageId: 'm-1',
      sequenceNumber: { toString: () => '7' },
      enqueuedSequenceNumber: 0,
      deliveryCount: 2,
      enqueuedTimeUtc: new Date('2030-01-02T03:04:05.678Z'),
      expiresAtUtc: new Date(8.64e15),
      lockToken: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
      lockedUntilUtc: new Date('2030-01-02T03:05:05.000Z'),
      contentType: 'application/json',
      subject: 'order',
      timeToLive: 90_000,
      applicationProperties: { tries: 3, at: new Date('2030-01-01T00:00:00Z'), traceparent: trace },
    });
    const properties = { tries: 3, at: '2030-01-01T00:00:00.000Z', traceparent: trace };
    expect(toBusDelivery(message, 'text')).toEqual({
      data: '{"id":5}',
      metadata: {
        MessageId: 'm-1',
        SequenceNumber: 7,
        EnqueuedSequenceNumber: 0,
        DeliveryCount: 3,
        EnqueuedTimeUtc: '2030-01-02T03:04:05.678Z',
        ExpiresAtUtc: '9999-12-31T23:59:59.9999999Z',
        LockToken: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
        LockedUntil: '2030-01-02T03:05:05.000+00:00',
        ContentType: 'application/json',
        Subject: 'order',
        Label: 'order',
        TimeToLive: '00:01:30',
        State: 0,
        ApplicationProperties: properties,
        UserProperties: properties,
      },
      deliveryCount: 3,
      id: 'sequence number 7',
      traceparent: trace,
    });
  });

  it('keeps numbers exact that JavaScript cannot represent', () => {
    const long = Buffer.alloc(8);
    long.writeBigInt64BE(2n ** 60n + 1n);
    const { metadata } = toBusDelivery(
      received({ sequenceNumber: { toString: () => '9007199254740993' }, applicationProperties: { long } }),
      'text',
    );
    expect(metadata).toMatchObject({
      SequenceNumber: '9007199254740993',
      ApplicationProperties: { long: '1152921504606846977' },
    });
  });

  it.each([
    ['text as text', Buffer.from('ü'), 'text', 'ü'],
    ['bytes that are no text as bytes', Buffer.from([0xff]), 'text', Buffer.from([0xff])],
    ['text as bytes on request', Buffer.from('ü'), 'bytes', Buffer.from('ü')],
    ['a text value', 'plain', 'text', 'plain'],
    ['any other value as JSON', { a: [1, true] }, 'text', '{"a":[1,true]}'],
    ['no body', undefined, 'text', ''],
  ] as const)('has %s', (_, body, dataType, expected) => {
    expect(toBusDelivery(received({ body }), dataType).data).toEqual(expected);
  });
});

describe('a Service Bus batch', () => {
  it('has arrays of equal length, with null where a message has no value', () => {
    const batch = toBusBatch(
      [received({ messageId: 'a', sessionId: 's' }), received({ messageId: 'b', deliveryCount: 4 })],
      'text',
    );
    expect(batch).toEqual({
      data: ['{"id":5}', '{"id":5}'],
      metadata: {
        MessageIdArray: ['a', 'b'],
        DeliveryCountArray: [1, 5],
        SessionIdArray: ['s', null],
        StateArray: [0, 0],
        ApplicationPropertiesArray: [{}, {}],
        UserPropertiesArray: [{}, {}],
      },
      deliveryCount: 5,
      traceparent: undefined,
    });
  });

  it('is all bytes when one message is no text', () => {
    const { data } = toBusBatch([received(), received({ body: Buffer.from([0xff]) })], 'text');
    expect(data).toEqual([Buffer.from('{"id":5}'), Buffer.from([0xff])]);
  });
});
