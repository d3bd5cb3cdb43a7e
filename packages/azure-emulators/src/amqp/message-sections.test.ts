import fc from 'fast-check';
import rhea from 'rhea';
import { describe, expect, it } from 'vitest';
import { encodeInt, encodeLong, encodeString, encodeTimestamp, MalformedMessage } from './amqp-bytes.js';
import {
  encodeHeader,
  encodeMapSection,
  readMapSection,
  splitBatch,
  splitMessage,
  withMessageId,
} from './message-sections.js';

const text = fc.string({ maxLength: 300 });
const scalar = fc.oneof(
  text,
  fc.boolean(),
  fc.integer({ min: -1000, max: 100_000 }),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }),
);
const dictionary = fc.dictionary(fc.stringMatching(/^[a-z:-]{1,12}$/), scalar, { noNullPrototype: true });
const message = fc.record(
  {
    durable: fc.boolean(),
    ttl: fc.nat(),
    message_id: text,
    subject: text,
    group_id: text,
    delivery_annotations: dictionary,
    message_annotations: dictionary,
    application_properties: dictionary,
    body: fc.oneof(
      text,
      fc.uint8Array({ maxLength: 2000 }).map((bytes) => rhea.message.data_section(Buffer.from(bytes))),
    ),
  },
  { requiredKeys: ['body'] },
);

describe('splitMessage', () => {
  it('cuts any message into slices that together are the message', () => {
    fc.assert(
      fc.property(message, (fields) => {
        const encoded = rhea.message.encode(fields);
        const sections = splitMessage(encoded);
        const head = [sections.header, sections.deliveryAnnotations, sections.messageAnnotations];
        const bare = [sections.properties, sections.applicationProperties, sections.body];
        const present = (parts: (Buffer | undefined)[]): Buffer[] => parts.filter((part) => part !== undefined);
        expect(Buffer.concat(present(bare)).equals(sections.bare)).toBe(true);
        expect(Buffer.concat([...present(head), sections.bare]).equals(encoded)).toBe(true);
        expect(readMapSection(sections.applicationProperties).size).toBe(
          Object.keys(fields.application_properties ?? {}).length,
        );
      }),
    );
  });

  it('throws MalformedMessage, and nothing else, for bytes that are no message', () => {
    fc.assert(
      fc.property(message, fc.nat(), fc.nat({ max: 255 }), fc.nat(), (fields, position, byte, length) => {
        const encoded = rhea.message.encode(fields);
        encoded[position % encoded.length] = byte;
        const broken = encoded.subarray(0, length % (encoded.length + 1));
        try {
          readMapSection(splitMessage(broken).messageAnnotations);
          splitBatch(broken);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedMessage);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('puts sections in their order that a client wrote in another one', () => {
    const ordered = rhea.message.encode({ message_id: 'a', application_properties: { yes: true }, body: 'b' });
    const { header, properties, applicationProperties, body } = splitMessage(ordered);
    const parts = [body, applicationProperties, header, properties].filter((part) => part !== undefined);
    const split = splitMessage(Buffer.concat(parts));
    expect(Buffer.concat([split.header ?? Buffer.alloc(0), split.bare]).equals(ordered)).toBe(true);
    expect(split.body.equals(body)).toBe(true);
  });

  it('refuses sections that stand twice', () => {
    const { header, properties, body } = splitMessage(rhea.message.encode({ message_id: 'a', body: 'b' }));
    const parts = [header, properties, body].filter((part) => part !== undefined);
    expect(() => splitMessage(Buffer.concat([...parts.slice(0, 2), ...parts.slice(1)]))).toThrow(MalformedMessage);
    expect(() => splitMessage(Buffer.concat([...parts, ...parts.slice(1, 2)]))).toThrow(MalformedMessage);
  });
});

describe('splitBatch', () => {
  it('returns the messages of an envelope byte for byte', () => {
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 20 }), (fields) => {
        const inner = fields.map((each) => rhea.message.encode(each));
        const envelope = rhea.message.encode({ body: rhea.message.data_sections(inner) });
        expect(splitBatch(envelope).map(String)).toEqual(inner.map(String));
      }),
    );
  });
});

describe('map sections', () => {
  it('keep the encoded type of every value', () => {
    const application_properties = { three: rhea.types.wrap_double(3), count: rhea.types.wrap_long(7) };
    const { applicationProperties } = splitMessage(rhea.message.encode({ application_properties, body: '' }));
    const entries = readMapSection(applicationProperties);
    expect(entries.get('three')?.[0]).toBe(0x82); // a double, although it is whole
    expect(entries.get('count')?.[0]).toBe(0x55); // a small long
    expect(readMapSection(encodeMapSection('applicationProperties', entries))).toEqual(entries);
  });

  it('are read by rhea as they were written', () => {
    const annotations = encodeMapSection('messageAnnotations', [
      ['x-opt-sequence-number', encodeLong(-1)],
      ['large', encodeLong(2 ** 40 + 5)],
      ['x-opt-enqueued-time', encodeTimestamp(1_700_000_000_123)],
      ['x-opt-offset', encodeString('é'.repeat(200))],
      ['x-opt-message-state', encodeInt(-2)],
    ]);
    const { body } = splitMessage(rhea.message.encode({ body: 'text' }));
    const decoded = rhea.message.decode(Buffer.concat([annotations, body]));
    expect(decoded.message_annotations).toEqual({
      'x-opt-sequence-number': -1,
      large: 2 ** 40 + 5,
      'x-opt-enqueued-time': new Date(1_700_000_000_123),
      'x-opt-offset': 'é'.repeat(200),
      'x-opt-message-state': -2,
    });
  });
});

describe('headers and properties', () => {
  const decoded = (...sections: readonly (Buffer | undefined)[]): Record<string, unknown> =>
    rhea.message.decode(Buffer.concat(sections.filter((section) => section !== undefined)));

  it('are read by rhea as they were written', () => {
    const fields = fc.record(
      {
        durable: fc.boolean(),
        priority: fc.nat({ max: 9 }),
        ttlMs: fc.nat({ max: 0xffff_ffff }),
        deliveryCount: fc.nat({ max: 0xffff_ffff }),
      },
      { requiredKeys: ['durable', 'deliveryCount'], noNullPrototype: true },
    );
    fc.assert(
      fc.property(fields, (header) => {
        const { durable, priority, ttl, delivery_count: deliveryCount } = decoded(encodeHeader(header));
        expect({ durable, priority, ttlMs: ttl, deliveryCount }).toEqual({
          priority: undefined,
          ttlMs: undefined,
          ...header,
        });
      }),
    );
  });

  it('set a message id and keep the other properties', () => {
    const { properties } = splitMessage(rhea.message.encode({ subject: 's', correlation_id: 'c', body: '' }));
    expect(decoded(withMessageId(properties, 'new'))).toMatchObject({
      message_id: 'new',
      subject: 's',
      correlation_id: 'c',
    });
    expect(decoded(withMessageId(undefined, 'new'))).toMatchObject({ message_id: 'new' });
  });
});
