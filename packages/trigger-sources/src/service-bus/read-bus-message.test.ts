import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { compileFunction } from 'node:vm';
import type { ServiceBusReceivedMessage } from '@azure/service-bus';
import rhea, { type Message } from 'rhea';
import { describe, expect, it } from 'vitest';
import { lockTokenOf, ofRheaMessage, ofSdkMessage } from './bus-message.js';
import { readBusMessage } from './read-bus-message.js';

const { types, message: codec } = rhea;
const at = new Date('2030-01-01T00:00:00.123Z');
const annotations = {
  'x-opt-sequence-number': types.wrap_long(7),
  'x-opt-enqueued-time': types.wrap_timestamp(at.getTime()),
  'x-opt-enqueue-sequence-number': types.wrap_long(3),
  'x-opt-locked-until': types.wrap_timestamp(at.getTime() + 30_000),
};
const body = codec.data_section(Buffer.from('{"a":1}'));
const tag = Buffer.from([...Array(16).keys()]);
const place = { deliveryId: 4, lockToken: lockTokenOf(tag) };

function encode(message: object): Buffer {
  return codec.encode({ message_annotations: annotations, delivery_count: 2, body, ...message });
}

const byRhea = (bytes: Buffer) => ofRheaMessage(codec.decode(bytes) as unknown as Message, place);

/** What the SDK makes of the same bytes. Its conversion is not exported, so it is taken out of its module. */
const sdkConversion = (() => {
  const require = createRequire(import.meta.url);
  const file = require.resolve('@azure/service-bus');
  const module = { exports: {} as { convert: (message: object, options: object) => ServiceBusReceivedMessage } };
  const source = `${readFileSync(file, 'utf8')}\nmodule.exports = { convert: fromRheaMessage };`;
  const load = compileFunction(source, ['module', 'exports', 'require', '__dirname', '__filename']);
  load(module, module.exports, createRequire(file), path.dirname(file), file);
  return module.exports.convert;
})();

const bySdk = (bytes: Buffer) => ({
  ...ofSdkMessage(
    sdkConversion(codec.decode(bytes), {
      skipParsingBodyAsJson: true,
      skipConvertingDate: true,
      delivery: { tag },
      shouldReorderLockToken: true,
    }),
  ),
  deliveryId: place.deliveryId,
});

const ordinary: [string, object][] = [
  ['only what the service adds', {}],
  ['no header', { delivery_count: undefined, durable: undefined }],
  ['a time to live', { ttl: 60_000 }],
  ['a long time to live', { ttl: 4_294_967_295, creation_time: at, absolute_expiry_time: new Date('2031-01-01') }],
  ['an absurd expiry', { ttl: 4_294_967_295, creation_time: at, absolute_expiry_time: new Date(8.64e15) }],
  ['a time to live of zero', { ttl: 0 }],
  ['a state', { message_annotations: { ...annotations, 'x-opt-message-state': types.wrap_int(1) } }],
  [
    'all annotations',
    {
      message_annotations: {
        ...annotations,
        'x-opt-partition-key': 'kéy',
        'x-opt-via-partition-key': 'via',
        'x-opt-scheduled-enqueue-time': types.wrap_timestamp(at.getTime() + 1),
        'x-opt-deadletter-source': 'orders',
        'x-opt-other': types.wrap_list([1, 'two']),
      },
    },
  ],
  [
    'all kinds of properties',
    { application_properties: { text: 'ü', yes: true, no: false, n: 3, minus: -70_000, half: 0.5, none: null, at } },
  ],
  ['bytes among its properties', { application_properties: { raw: types.wrap_binary(Buffer.from('x')) } }],
  ['eight bytes among its properties', { application_properties: { raw: types.wrap_binary(Buffer.from('12345678')) } }],
  [
    'the reason of a dead letter',
    { application_properties: { DeadLetterReason: 'r', DeadLetterErrorDescription: 'd' } },
  ],
  [
    'message properties',
    {
      message_id: 'm',
      user_id: types.wrap_binary(Buffer.from('u')),
      to: 't',
      subject: 's',
      reply_to: 'a',
      correlation_id: 'c',
      content_type: 'application/json',
      content_encoding: 'gzip',
      creation_time: at,
      group_id: 'g',
      group_sequence: 4,
      reply_to_group_id: 'r',
    },
  ],
  ['ids that are numbers', { message_id: types.wrap_ulong(5), correlation_id: types.wrap_ulong(70_000) }],
  ['long texts and maps', { subject: 'x'.repeat(300), application_properties: { long: 'y'.repeat(70_000) } }],
  ['large numbers', { application_properties: { big: types.wrap_long(2 ** 52), less: types.wrap_long(-(2 ** 40)) } }],
  ['a large body', { body: codec.data_section(Buffer.alloc(1_000, 7)) }],
  ['an empty body', { body: codec.data_section(Buffer.alloc(0)) }],
];
const others: [string, object][] = [
  ['a text as its body', { body: 'text' }],
  ['a map as its body', { body: { a: [1, at] } }],
  ['no body', { body: null }],
  ['several data sections', { body: codec.data_sections([Buffer.from('a'), Buffer.from('b')]) }],
  ['a sequence', { body: codec.sequence_section([1, 2]) }],
  ['a number beyond the exact ones', { application_properties: { big: types.wrap_ulong(Buffer.alloc(8, 0x7f)) } }],
  ['a uuid', { application_properties: { id: types.wrap_uuid(Buffer.alloc(16, 1)) } }],
  ['ids that are bytes', { message_id: types.wrap_binary(Buffer.from('id')), correlation_id: types.wrap_uuid(tag) }],
  [
    'a sequence number beyond the exact ones',
    {
      message_annotations: {
        ...annotations,
        'x-opt-sequence-number': types.wrap_long(Buffer.from([0x10, 0, 0, 0, 0, 0, 0, 1])),
      },
    },
  ],
  ['a property that would change the prototype', { application_properties: { ['__proto__']: 'x', other: 1 } }],
];

describe('a Service Bus message read from bytes is the one that the SDK makes of them', () => {
  it.each(ordinary)('%s', (_, message) => {
    const bytes = encode(message);
    const read = readBusMessage(bytes, place);
    expect(read).toBeDefined();
    expect(read).toEqual(bySdk(bytes));
    expect(read).toEqual(byRhea(bytes));
  });
});

describe('a Service Bus message that is not like most is left to rhea, with the same result as the SDK', () => {
  it.each(others)('%s', (_, message) => {
    const bytes = encode(message);
    expect(readBusMessage(bytes, place)).toBeUndefined();
    expect(byRhea(bytes)).toEqual(bySdk(bytes));
  });

  it('bytes that end early', () => {
    const bytes = encode({});
    for (let length = 0; length < bytes.length; length += 1)
      expect(readBusMessage(bytes.subarray(0, length), place)).toBeUndefined();
  });
});

describe('a lock token', () => {
  it('is the tag of its delivery in the byte order of .NET', () => {
    expect(lockTokenOf(tag)).toBe('03020100-0504-0706-0809-0a0b0c0d0e0f');
    expect(lockTokenOf(Buffer.from('other'))).toBeUndefined();
  });
});
