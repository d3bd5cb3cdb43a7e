import { describe, expect, it } from 'vitest';
import { toOutputEvent } from './hub-output-event.js';

const plain = { hub: 'orders', partitionKey: undefined, properties: {} };
const convert = (value: unknown, defaults: Parameters<typeof toOutputEvent>[1] = plain) =>
  toOutputEvent({ body: typeof value === 'string' ? value : JSON.stringify(value) }, defaults);

describe('an output to an event hub', () => {
  it('is the body as it is, with the key and properties of the binding', () => {
    expect(convert('text')).toEqual({ event: { body: Buffer.from('text') }, partitionKey: undefined });
    const bytes = Uint8Array.of(0, 255);
    expect(toOutputEvent({ body: bytes }, { ...plain, partitionKey: 'k', properties: { a: 1 } })).toEqual({
      event: { body: Buffer.from(bytes), properties: { a: 1 } },
      partitionKey: 'k',
    });
    expect(convert({ $message: { body: 1 }, other: 2 }).event.body).toEqual(
      Buffer.from('{"$message":{"body":1},"other":2}'),
    );
  });

  it('may name its own key, properties and ids', () => {
    const message = {
      body: { id: 5 },
      partitionKey: 'own',
      applicationProperties: { b: true },
      messageId: 'm',
      correlationId: 'c',
      contentType: 'application/json',
    };
    expect(convert({ $message: message }, { ...plain, partitionKey: 'k', properties: { a: 1 } })).toEqual({
      event: {
        body: Buffer.from('{"id":5}'),
        properties: { a: 1, b: true },
        messageId: 'm',
        correlationId: 'c',
        contentType: 'application/json',
      },
      partitionKey: 'own',
    });
    expect(convert({ $message: { bodyBase64: 'AP8=' } }).event.body).toEqual(Buffer.of(0, 255));
  });

  it('is refused with all problems', () => {
    const message = { body: 1, partitionKey: 7, sessionId: 'x', applicationProperties: { deep: {} } };
    expect(() => convert({ $message: message })).toThrow(
      /^An event for hub orders has partitionKey, which must be text.*; has applicationProperties, which must be an object of texts, numbers and booleans.*; has sessionId, which is no property of an event\.$/,
    );
  });
});
