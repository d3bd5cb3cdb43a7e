import { describe, expect, it } from 'vitest';
import { decodeValue } from './values.js';

const bytes = (...values: readonly number[]): Buffer => Buffer.from(values);

/** Every AMQP type that has several encodings, in each of them. */
const encodings: readonly (readonly [type: string, value: unknown, ...encoded: readonly Buffer[]])[] = [
  ['true', true, bytes(0x41), bytes(0x56, 1)],
  ['false', false, bytes(0x42), bytes(0x56, 0)],
  ['uint 0', 0, bytes(0x43), bytes(0x52, 0), bytes(0x70, 0, 0, 0, 0)],
  ['uint', 200, bytes(0x52, 200), bytes(0x70, 0, 0, 0, 200)],
  ['ulong 0', 0, bytes(0x44), bytes(0x53, 0), bytes(0x80, 0, 0, 0, 0, 0, 0, 0, 0)],
  ['ulong', 200, bytes(0x53, 200), bytes(0x80, 0, 0, 0, 0, 0, 0, 0, 200)],
  ['int', -2, bytes(0x54, 0xfe), bytes(0x71, 0xff, 0xff, 0xff, 0xfe)],
  ['long', -2, bytes(0x55, 0xfe), bytes(0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe)],
  ['binary', bytes(7), bytes(0xa0, 1, 7), bytes(0xb0, 0, 0, 0, 1, 7)],
  ['string', 'é', bytes(0xa1, 2, 0xc3, 0xa9), bytes(0xb1, 0, 0, 0, 2, 0xc3, 0xa9)],
  ['symbol', 'a', bytes(0xa3, 1, 0x61), bytes(0xb3, 0, 0, 0, 1, 0x61)],
  ['empty list', [], bytes(0x45), bytes(0xc0, 1, 0), bytes(0xd0, 0, 0, 0, 4, 0, 0, 0, 0)],
  ['list', [true, 1], bytes(0xc0, 5, 2, 0x56, 1, 0x54, 1), bytes(0xd0, 0, 0, 0, 7, 0, 0, 0, 2, 0x41, 0x54, 1)],
  [
    'map',
    { a: false },
    bytes(0xc1, 6, 2, 0xa1, 1, 0x61, 0x56, 0),
    bytes(0xd1, 0, 0, 0, 8, 0, 0, 0, 2, 0xa1, 1, 0x61, 0x42),
  ],
  ['array', [true, false], bytes(0xe0, 4, 2, 0x56, 1, 0), bytes(0xf0, 0, 0, 0, 7, 0, 0, 0, 2, 0x56, 1, 0)],
];

describe('a decoded value', () => {
  it.each(encodings.map(([type, value, ...encoded]) => ({ type, value, encoded })))(
    '$type is the same in every encoding',
    ({ value, encoded }) => {
      for (const one of encoded) expect(decodeValue(one)).toEqual(value);
    },
  );
});
