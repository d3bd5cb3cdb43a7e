import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  encodeCompound,
  encodeString,
  encodeSymbol,
  encodeTimestamp,
  MalformedMessage,
} from '../../amqp/amqp-bytes.js';
import { encodeHeader, encodeMapSection } from '../../amqp/message-sections.js';
import { encodeValue } from '../../amqp/values.js';
import { newMessage } from '../broker/message.js';
import { deliveryTag, encodeDelivery } from './delivery-encoding.js';
import { decodeContent } from './encoded-content.js';

const none = Buffer.from([0x40]);
const body = Buffer.from([0x00, 0x53, 0x75, 0xa0, 0x02, 0x01, 0x02]);
const double3 = Buffer.from([0x82, 0x40, 0x08, 0, 0, 0, 0, 0, 0]);

function encoded(): Buffer {
  const fields = [
    encodeString('id-1'),
    none,
    encodeString('to'),
    encodeString('label'),
    none,
    none,
    none,
    none,
    none,
    none,
    encodeString('s'),
  ];
  return Buffer.concat([
    encodeHeader({ ttlMs: 5_000 }),
    encodeMapSection('messageAnnotations', [
      ['x-opt-partition-key', encodeString('pk')],
      ['x-opt-sequence-number', encodeString('forged')],
      ['x-opt-scheduled-enqueue-time', encodeTimestamp(77)],
    ]),
    encodeCompound(0x73, 'list', fields),
    encodeMapSection('applicationProperties', [
      ['Whole', double3],
      ['list', encodeValue(['a'])],
    ]),
    body,
  ]);
}

describe('the content of a message', () => {
  it('is read without decoding what is only passed on', () => {
    const content = decodeContent(encoded());
    expect(content).toMatchObject({ messageId: 'id-1', sessionId: 's', timeToLiveMs: 5_000, scheduledAtMs: 77 });
    expect([
      content.system('label'),
      content.system('to'),
      content.system('partitionkey'),
      content.system('correlationid'),
    ]).toEqual(['label', 'to', 'pk', undefined]);
    expect([content.user('whole'), content.user('list'), content.user('none')]).toEqual([3, undefined, undefined]);
    expect(content.body.equals(body)).toBe(true);
    expect(content.bare.includes(double3)).toBe(true);
  });

  it('keeps the bytes of every property that an action does not touch', () => {
    const changed = decodeContent(encoded()).with({
      system: new Map([
        ['label', 'new'],
        ['correlationid', 'c'],
        ['to', null],
      ]),
      user: new Map<string, string | bigint | undefined>([
        ['added', 5n],
        ['list', undefined],
      ]),
    });
    expect([changed.system('label'), changed.system('correlationid'), changed.system('to')]).toEqual([
      'new',
      'c',
      undefined,
    ]);
    expect([...changed.userProperties()]).toEqual([
      ['Whole', 3],
      ['added', 5n],
    ]);
    expect(changed.bare.includes(double3)).toBe(true);
    expect(changed).toMatchObject({ messageId: 'id-1', sessionId: 's', timeToLiveMs: 5_000, scheduledAtMs: 77 });
    expect(changed.body.equals(body)).toBe(true);
  });

  it('survives the journal', () => {
    const content = decodeContent(encoded());
    const again = decodeContent(content.encode());
    expect(again.bare.equals(content.bare)).toBe(true);
    expect([again.timeToLiveMs, again.scheduledAtMs, again.system('partitionkey')]).toEqual([5_000, 77, 'pk']);
  });

  it('gets an id if it has none, without or with other properties', () => {
    expect(decodeContent(body).messageId).toMatch(/^[\da-f]{32}$/);
    const labelled = decodeContent(
      Buffer.concat([encodeCompound(0x73, 'list', [none, none, none, encodeString('label')]), body]),
    );
    expect(labelled.messageId).toMatch(/^[\da-f]{32}$/);
    expect(labelled.system('label')).toBe('label');
    expect(labelled.body.equals(body)).toBe(true);
  });

  it('is delivered with the annotations of the service, and none that a client forged', () => {
    const message = newMessage(decodeContent(encoded()), 9, 1_000, {});
    const whole = Buffer.concat(encodeDelivery(message));
    expect(whole.includes('forged')).toBe(false);
    expect(whole.includes(encodeSymbol('x-opt-enqueue-sequence-number'))).toBe(true);
    expect(decodeContent(whole).system('partitionkey')).toBe('pk');
  });

  it('is refused if it is damaged anywhere, never with another error', () => {
    const whole = encoded();
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.nat(255), fc.nat(whole.length), (at, byte, end) => {
        const damaged = Buffer.from(whole);
        damaged[at] = byte;
        try {
          const content = decodeContent(damaged.subarray(0, end));
          content.userProperties();
          content.with({ system: new Map([['label', 'x']]), user: new Map([['DeadLetterReason', 'x']]) }).encode();
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedMessage);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('a delivery tag', () => {
  it('is the lock token in the byte order of .NET', () => {
    expect(deliveryTag('00112233445566778899aabbccddeeff').toString('hex')).toBe('33221100554477668899aabbccddeeff');
  });
});
