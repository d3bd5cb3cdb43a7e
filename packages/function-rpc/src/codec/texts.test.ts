import { describe, expect, it } from 'vitest';
import { ProtocolError } from './protocol-error.js';
import { ProtoReader } from './reader.js';
import { ProtoWriter } from './writer.js';

function roundTrip(text: string): string {
  const writer = new ProtoWriter(Buffer.alloc(1));
  writer.string(10, text);
  const reader = new ProtoReader(Buffer.from(writer.buffer.subarray(0, writer.position)));
  expect(reader.tag()).toBe(10);
  const read = reader.string(writer.position);
  expect(reader.position).toBe(writer.position);
  return read;
}

describe('strings', () => {
  // Lengths at which the writer changes its ways, and at which the length takes another byte.
  const lengths = [
    0, 1, 23, 24, 25, 31, 32, 33, 42, 43, 63, 64, 127, 128, 1_023, 1_024, 1_025, 5_461, 5_462, 16_383, 16_384,
  ];

  it.each(lengths)('of %i characters are preserved, in any alphabet', (length) => {
    for (const character of ['a', 'é', '€', '😀']) {
      const text = character.repeat(length);
      expect(roundTrip(text) === text).toBe(true);
    }
    const mixed = `${'a'.repeat(Math.max(0, length - 1))}ß`;
    expect(roundTrip(mixed) === mixed).toBe(true);
  });

  it('of two million bytes are preserved', () => {
    const text = 'äb'.repeat(700_000);
    expect(roundTrip(text) === text).toBe(true);
  });

  it('lose half a surrogate pair, as all UTF-8 does', () => {
    expect(roundTrip('a\ud800b')).toBe('a\ufffdb');
  });
});

describe('bytes', () => {
  const encoded = (value: Uint8Array): Buffer => {
    const writer = new ProtoWriter(Buffer.alloc(1));
    writer.bytes(10, value);
    return Buffer.from(writer.buffer.subarray(0, writer.position));
  };

  it('are a copy when they are a small part of what they came in', () => {
    const network = Buffer.concat([encoded(Buffer.from('small')), Buffer.alloc(10 * Buffer.poolSize)]);
    const value = new ProtoReader(network, 1).bytes(7);
    expect(Buffer.from(value).toString()).toBe('small');
    expect(value.buffer).not.toBe(network.buffer);
    expect(value.buffer.byteLength).toBeLessThan(2 * Buffer.poolSize);
  });

  it('are a view when they are most of it', () => {
    const message = Buffer.from(encoded(Buffer.alloc(100_000, 7)));
    const value = new ProtoReader(message, 1).bytes(message.length);
    expect(value.length).toBe(100_000);
    expect(value.buffer).toBe(message.buffer);
  });
});

describe('nested messages', () => {
  it.each([0, 1, 127, 128, 16_383, 16_384, 2_097_152])(
    'get their length right at %i bytes, again and again',
    (size) => {
      const writer = new ProtoWriter(Buffer.alloc(1));
      const payload = Buffer.alloc(size, 1);
      const starts: number[] = [];
      for (let round = 0; round < 3; round++) {
        starts.push(writer.position);
        const outer = writer.open(10, 3);
        const inner = writer.open(10, 3); // the same place within itself
        if (size > 0) writer.raw(payload);
        writer.close(inner, 3);
        writer.close(outer, 3);
      }
      const reader = new ProtoReader(Buffer.from(writer.buffer.subarray(0, writer.position)));
      for (const start of starts) {
        expect(reader.position).toBe(start);
        reader.tag();
        const end = reader.nested(writer.position);
        reader.tag();
        const innerEnd = reader.nested(end);
        expect(innerEnd - reader.position).toBe(size);
        reader.position = innerEnd;
        reader.leave(innerEnd);
        reader.leave(end);
      }
    },
  );
});

describe('lengths that lie', () => {
  it.each([
    ['longer than the message', [10, 200, 1, 65]],
    ['negative', [10, 0xff, 0xff, 0xff, 0xff, 0x0f]],
    ['negative in ten bytes', [10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]],
    ['gigabytes', [10, 0xff, 0xff, 0xff, 0xff, 0x07, 65]],
  ])('are refused without allocating: %s', (_, bytes) => {
    const buffer = Buffer.from(bytes);
    expect(() => new ProtoReader(buffer, 1).string(buffer.length)).toThrow(ProtocolError);
    expect(() => new ProtoReader(buffer, 1).bytes(buffer.length)).toThrow(ProtocolError);
    expect(() => new ProtoReader(buffer, 1).nested(buffer.length)).toThrow(ProtocolError);
  });
});
