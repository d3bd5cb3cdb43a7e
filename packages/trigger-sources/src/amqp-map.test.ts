import rhea from 'rhea';
import { describe, expect, it } from 'vitest';
import { readAmqpMap } from './amqp-map.js';

interface Writer {
  write(value: unknown): void;
  toBuffer(): Buffer;
}
const { types } = rhea as unknown as {
  readonly types: Record<'wrap_map' | 'wrap_list' | 'wrap_string', (value: unknown) => unknown> & {
    readonly Writer: new () => Writer;
  };
};

function encoded(value: unknown): Buffer {
  const writer = new types.Writer();
  writer.write(value);
  return writer.toBuffer();
}

describe('readAmqpMap', () => {
  it('reads text, numbers, booleans, times and null', async () => {
    const properties = { text: 'ä', number: 5, large: 2 ** 40, half: 0.5, yes: true, at: new Date(1_000), none: null };
    expect(await readAmqpMap(encoded(types.wrap_map(properties)))).toEqual(properties);
    expect(await readAmqpMap(encoded(types.wrap_map({})))).toEqual({});
  });

  it('reads booleans in both of their encodings', async () => {
    const bytes = Buffer.from([0xc1, 15, 6, 0xa1, 1, 0x61, 0x56, 1, 0xa1, 1, 0x62, 0x56, 0, 0xa1, 1, 0x63, 0x41]);
    expect(await readAmqpMap(bytes)).toEqual({ a: true, b: false, c: true });
  });

  it.each([
    ['a list', encoded(types.wrap_list([1])), 'it is not a map'],
    ['text', encoded(types.wrap_string('x')), 'it is not a map'],
    ['a map in a map', encoded(types.wrap_map({ a: { b: 1 } })), 'the value of "a" is not text'],
    ['more than a map', Buffer.concat([encoded(types.wrap_map({})), Buffer.from([0x40])]), '1 bytes follow the map'],
  ])('refuses %s', async (_, bytes, problem) => {
    await expect(readAmqpMap(bytes)).rejects.toThrow(problem);
  });

  it('refuses a map that is cut short, and bytes of another encoding', async () => {
    const whole = encoded(types.wrap_map({ a: 'text' }));
    await expect(readAmqpMap(whole.subarray(0, 6))).rejects.toThrow();
    await expect(readAmqpMap(Buffer.from('{"a":1}'))).rejects.toThrow();
  });
});
