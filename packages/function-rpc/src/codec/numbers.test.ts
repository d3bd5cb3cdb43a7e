import { describe, expect, it } from 'vitest';
import { ProtocolError } from './protocol-error.js';
import { ProtoReader } from './reader.js';
import { ProtoWriter } from './writer.js';

const written = (write: (writer: ProtoWriter) => void): Buffer => {
  const writer = new ProtoWriter(Buffer.alloc(4));
  write(writer);
  return writer.buffer.subarray(0, writer.position);
};

const tag = 8;

describe('64-bit numbers', () => {
  const values = [
    0,
    1,
    -1,
    127,
    128,
    -128,
    300,
    2 ** 31,
    -(2 ** 31),
    2 ** 32,
    2 ** 32 - 1,
    2 ** 35,
    2 ** 53 - 1,
    -(2 ** 53) + 1,
  ];
  const large = [2n ** 53n, -(2n ** 53n), 2n ** 63n - 1n, -(2n ** 63n), 12_345_678_901_234_567n];

  it.each([...values, ...large])('are preserved: %s', (value) => {
    for (const kind of ['int64', 'sint64'] as const) {
      const reader = new ProtoReader(written((writer) => writer[kind](tag, value)));
      expect(reader.tag()).toBe(tag);
      expect(reader[kind]()).toBe(value);
    }
  });

  it('are numbers where numbers are exact, and bigints beyond', () => {
    const read = (value: number | bigint): unknown => {
      const reader = new ProtoReader(
        written((writer) => writer.int64(tag, value)),
        1,
      );
      return reader.int64();
    };
    expect(read(BigInt(Number.MAX_SAFE_INTEGER))).toBe(Number.MAX_SAFE_INTEGER);
    expect(read(BigInt(Number.MAX_SAFE_INTEGER) + 1n)).toBe(2n ** 53n);
    expect(read(1e17)).toBe(100_000_000_000_000_000n);
  });

  it.each([0.5, Number.NaN, Number.POSITIVE_INFINITY, 1e300, 2 ** 63, 2n ** 63n, -(2n ** 63n) - 1n])(
    'are refused when they do not fit: %s',
    (value) => {
      expect(() => written((writer) => writer.int64(tag, value))).toThrow(ProtocolError);
    },
  );
});

describe('32-bit numbers', () => {
  it.each([0, 1, 127, 128, 2 ** 31 - 1, -1, -(2 ** 31)])('are preserved: %s', (value) => {
    const reader = new ProtoReader(
      written((writer) => writer.int32(tag, value)),
      1,
    );
    expect(reader.int32()).toBe(value);
  });

  it('take ten bytes when they are negative, as everywhere in the protocol', () => {
    expect(written((writer) => writer.int32(tag, -1)).length).toBe(11);
  });
});

describe('values that are not numbers', () => {
  it.each([
    ['cut off', Buffer.from([0x80])],
    ['longer than ten bytes', Buffer.alloc(11, 0x80)],
    ['empty', Buffer.alloc(0)],
  ])('are refused: %s', (_, bytes) => {
    expect(() => new ProtoReader(bytes).int64()).toThrow(ProtocolError);
    expect(() => new ProtoReader(bytes).uint32()).toThrow(ProtocolError);
  });

  it('are refused as tag or length when they have more than 32 bits', () => {
    expect(() => new ProtoReader(Buffer.from([0x85, 0x80, 0x80, 0x80, 0x80, 0x01])).uint32()).toThrow(
      'more than 32 bits',
    );
  });

  it('are refused when a double is cut off', () => {
    expect(() => new ProtoReader(Buffer.alloc(7)).double()).toThrow(ProtocolError);
  });
});
