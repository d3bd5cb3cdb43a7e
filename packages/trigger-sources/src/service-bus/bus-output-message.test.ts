import { describe, expect, it } from 'vitest';
import { toBusMessage } from './bus-output-message.js';

const message = (body: unknown) =>
  toBusMessage({ body: typeof body === 'string' ? body : JSON.stringify(body) }, 'orders', () => 'new');

describe('a message for Service Bus', () => {
  it.each([
    ['text', 'hello', 'text/plain'],
    ['JSON', '{"id":5}', 'application/json'],
    [
      'an e-mail, whose keys are also properties of messages',
      '{"to":"a","subject":"b","body":"c"}',
      'application/json',
    ],
    ['an object with the key among others', '{"$message":{"body":1},"id":5}', 'application/json'],
    ['an object with the key and no properties', '{"$message":"x"}', 'application/json'],
    ['text that begins like an envelope', '{"$message": broken', 'application/json'],
  ])('has a plain body: %s', (_, body, contentType) => {
    expect(message(body)).toEqual({ messageId: 'new', body: Buffer.from(body), contentType });
  });

  it('has bytes as they are', () => {
    const body = new Uint8Array([255, 0]);
    expect(toBusMessage({ body }, 'orders', () => 'new')).toEqual({
      messageId: 'new',
      body: Buffer.from(body),
      contentType: 'application/octet-stream',
    });
  });

  it('has the properties of its envelope', () => {
    const envelope = {
      body: { id: 5 },
      messageId: 'm',
      sessionId: 's',
      subject: 'order',
      correlationId: 'c',
      scheduledEnqueueTimeUtc: '2030-01-31T12:00:00Z',
      timeToLive: '00:01:00',
      applicationProperties: { tries: 3, urgent: true },
      to: null,
    };
    expect(message({ $message: envelope })).toEqual({
      body: Buffer.from('{"id":5}'),
      contentType: 'application/json',
      messageId: 'm',
      sessionId: 's',
      subject: 'order',
      correlationId: 'c',
      scheduledEnqueueTimeUtc: new Date('2030-01-31T12:00:00Z'),
      timeToLive: 60_000,
      applicationProperties: { tries: 3, urgent: true },
    });
    expect(message({ $message: { body: 'text', contentType: 'a/b' } })).toMatchObject({
      body: Buffer.from('text'),
      contentType: 'a/b',
    });
    expect(message({ $message: { bodyBase64: '/wA=' } })).toMatchObject({ body: Buffer.from([255, 0]) });
  });

  it('is refused with every problem of its envelope', () => {
    const envelope = { body: 1, sesionId: 's', timeToLive: 'soon', applicationProperties: { nested: {} } };
    expect(() => message({ $message: envelope })).toThrow(
      expect.objectContaining({
        code: 'SERVICE_BUS_MESSAGE_UNSENDABLE',
        message:
          'A message for orders has sesionId, which is no property of a message; ' +
          'has timeToLive "soon", which must be milliseconds, or a time span like "hh:mm:ss" or "d.hh:mm:ss"; ' +
          'has applicationProperties {"nested":{}}, which must be an object of texts, numbers, booleans and nulls.',
      }),
    );
  });
});
