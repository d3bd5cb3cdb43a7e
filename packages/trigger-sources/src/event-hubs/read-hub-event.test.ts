import rhea, { type Message } from 'rhea';
import { describe, expect, it } from 'vitest';
import { toHubEvent } from './hub-event.js';
import { readHubEvent } from './read-hub-event.js';

const { types, message: codec } = rhea;
const at = new Date('2030-01-01T00:00:00.123Z');
const annotations = {
  'x-opt-sequence-number': types.wrap_long(7),
  'x-opt-offset': '700',
  'x-opt-enqueued-time': types.wrap_timestamp(at.getTime()),
};
const body = codec.data_section(Buffer.from('{"a":1}'));

function encode(message: object): Buffer {
  return codec.encode({ message_annotations: annotations, body, ...message });
}

/** What rhea makes of the same bytes. */
const byRhea = (bytes: Buffer) => toHubEvent(codec.decode(bytes) as unknown as Message);

describe('an event read from bytes', () => {
  it('has booleans that a client wrote in two bytes', () => {
    const properties = Buffer.from([0x00, 0x53, 0x74, 0xc1, 11, 4, 0xa1, 1, 0x61, 0x56, 1, 0xa1, 1, 0x62, 0x56, 0]);
    expect(readHubEvent(Buffer.concat([encode({}), properties]))?.properties).toEqual({ a: true, b: false });
  });
});

describe('an event read from bytes is the one that rhea decodes', () => {
  it.each<[string, object]>([
    ['only its position', {}],
    ['a partition key', { message_annotations: { ...annotations, 'x-opt-partition-key': 'kéy' } }],
    ['other annotations', { message_annotations: { ...annotations, 'x-opt-custom': at, 'x-opt-n': null } }],
    ['a header and a footer', { durable: true, ttl: 5_000, footer: { crc: 1 } }],
    [
      'all kinds of properties',
      { application_properties: { text: 'ü', yes: true, no: false, n: 3, minus: -70_000, half: 0.5, none: null, at } },
    ],
    ['bytes among its properties', { application_properties: { raw: types.wrap_binary(Buffer.from('x')) } }],
    ['nested annotations', { message_annotations: { ...annotations, 'x-opt-list': types.wrap_list([1, 'two']) } }],
    [
      'message properties',
      {
        message_id: 'm',
        user_id: types.wrap_binary(Buffer.from('u')),
        to: 't',
        subject: 's',
        correlation_id: 'c',
        content_type: 'application/json',
        creation_time: at,
        group_id: 'g',
        group_sequence: 4,
        reply_to_group_id: 'r',
      },
    ],
    ['long texts and maps', { subject: 'x'.repeat(300), application_properties: { long: 'y'.repeat(70_000) } }],
    ['large numbers', { application_properties: { big: types.wrap_long(2 ** 52), less: types.wrap_long(-(2 ** 40)) } }],
    ['a large body', { body: codec.data_section(Buffer.alloc(100_000, 7)) }],
    ['an empty body', { body: codec.data_section(Buffer.alloc(0)) }],
  ])('%s', (_, message) => {
    const bytes = encode(message);
    const event = readHubEvent(bytes);
    expect(event).toBeDefined();
    expect(event).toEqual(byRhea(bytes));
  });
});

describe('a message that is not like most is left to rhea', () => {
  it.each<[string, object]>([
    ['a value as its body', { body: 'text' }],
    ['several data sections', { body: codec.data_sections([Buffer.from('a'), Buffer.from('b')]) }],
    ['a sequence', { body: codec.sequence_section([1, 2]) }],
    ['a number beyond the exact ones', { application_properties: { big: types.wrap_ulong(Buffer.alloc(8, 0xff)) } }],
    ['a uuid', { application_properties: { id: types.wrap_uuid(Buffer.alloc(16, 1)) } }],
    ['no position', { message_annotations: {} }],
    ['a property that would change the prototype', { application_properties: { ['__proto__']: 'x', other: 1 } }],
  ])('%s', (_, message) => {
    expect(readHubEvent(encode(message))).toBeUndefined();
  });

  it('bytes that end early', () => {
    const bytes = encode({});
    for (let length = 0; length < bytes.length; length += 1)
      expect(readHubEvent(bytes.subarray(0, length))).toBeUndefined();
  });
});
