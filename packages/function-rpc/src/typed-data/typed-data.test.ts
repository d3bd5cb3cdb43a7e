import { describe, expect, it } from 'vitest';
import { ProtocolError } from '../codec/protocol-error.js';
import type { TypedData } from '../generated/typed-data.js';
import { capability, hasCapability } from './capabilities.js';
import { fromHandlerValue, toHandlerValue } from './handler-values.js';
import { toTypedData } from './host-values.js';

const bytes = Buffer.from([1, 2]);
const collections = { [capability.typedDataCollection]: 'true' };
const withEmpty = { ...collections, [capability.includeEmptyEntriesInMessagePayload]: 'true' };
const circular: Record<string, unknown> = {};
circular['self'] = circular;

describe('a host', () => {
  it.each([
    ['null as nothing', null, {}],
    ['undefined as nothing', undefined, {}],
    ['text as text, even when it looks like JSON', '{"a":1}', { string: '{"a":1}' }],
    ['no text as text', '', { string: '' }],
    ['bytes as bytes', bytes, { bytes }],
    ['a fraction as a number', 1.5, { double: 1.5 }],
    ['what no JSON can say as a number', Number.NaN, { double: Number.NaN }],
    ['a whole number as JSON', 42, { json: '42' }],
    ['a large whole number as JSON', 2n ** 70n, { json: '1180591620717411303424' }],
    ['a boolean as JSON', false, { json: 'false' }],
    ['a date as JSON', new Date(0), { json: '"1970-01-01T00:00:00.000Z"' }],
    ['an object as JSON', { a: [1, 'x'] }, { json: '{"a":[1,"x"]}' }],
    ['a list as JSON', ['a', 'b'], { json: '["a","b"]' }],
    ['a function as null', () => 1, { json: 'null' }],
  ])('says %s', (_, value, expected) => {
    expect(toTypedData(value)).toEqual(expected);
  });

  it.each([
    ['texts', ['a', 'b'], { collectionString: { string: ['a', 'b'] } }],
    ['pieces of bytes', [bytes, bytes], { collectionBytes: { bytes: [bytes, bytes] } }],
    ['fractions', [1.5, 2], { collectionDouble: { double: [1.5, 2] } }],
    ['whole numbers, which workers in JavaScript could not read', [1, 2], { json: '[1,2]' }],
    ['different things', ['a', 1], { json: '["a",1]' }],
    ['nothing', [], { json: '[]' }],
    ['texts of which one is empty', ['a', ''], { json: '["a",""]' }],
  ])('says a list of %s to a worker that takes collections', (_, value, expected) => {
    expect(toTypedData(value, collections)).toEqual(expected);
  });

  it('sends empty texts in a collection to a worker that accepts them', () => {
    expect(toTypedData(['a', ''], withEmpty)).toEqual({ collectionString: { string: ['a', ''] } });
  });

  it('refuses what has no JSON', () => {
    expect(() => toTypedData(circular)).toThrow(ProtocolError);
    expect(() => toTypedData({ big: 1n })).toThrow(ProtocolError);
  });
});

describe('a handler', () => {
  it.each<[string, TypedData | undefined, unknown]>([
    ['nothing as undefined', {}, undefined],
    ['text that is JSON as its value', { string: '{"a":1}' }, { a: 1 }],
    ['digits as a number, however imprecise', { string: '12345678901234567890' }, 12_345_678_901_234_567_000],
    ['what is no JSON as text', { string: '007' }, '007'],
    ['words as text', { string: 'hello' }, 'hello'],
    ['words that begin like JSON as text', { string: 'nothing' }, 'nothing'],
    ['no text as text', { string: '' }, ''],
    ['JSON as its value', { json: '[1]' }, [1]],
    ['bytes as a buffer', { bytes: new Uint8Array([1, 2]) }, bytes],
    ['a stream as a buffer', { stream: new Uint8Array([1, 2]) }, bytes],
    ['each text of a collection as JSON if it is any', { collectionString: { string: ['1', 'a'] } }, [1, 'a']],
    ['bytes of a collection as buffers', { collectionBytes: { bytes: [bytes] } }, [bytes]],
    ['a whole number as one', { int: 5 }, 5],
  ])('sees %s', (_, data, expected) => {
    expect(toHandlerValue(data)).toEqual(expected);
  });

  it('fails on malformed JSON', () => {
    expect(() => toHandlerValue({ json: '{' })).toThrow(SyntaxError);
  });

  it('may change the bytes it is given', () => {
    const given = new Uint8Array([1]);
    (toHandlerValue({ bytes: given }) as Buffer)[0] = 9;
    expect(given[0]).toBe(1);
  });

  it.each([
    ['nothing', undefined, undefined],
    ['null', null, undefined],
    ['text', 'a', { string: 'a' }],
    ['a buffer', bytes, { bytes: new Uint8Array([1, 2]) }],
    ['an array of 16-bit numbers', new Uint16Array([257]), { bytes: new Uint8Array([1, 1]) }],
    ['an array buffer', new Uint8Array([3]).buffer, { bytes: new Uint8Array([3]) }],
    ['a whole number', 7, { int: 7 }],
    ['a fraction', 0.5, { double: 0.5 }],
    ['a number beyond 64 bits', 1e300, { double: 1e300 }],
    ['a bigint', 5n, { int: 5n }],
    ['a boolean', true, { json: 'true' }],
    ['an object', { a: 1 }, { json: '{"a":1}' }],
    ['a list', [1], { json: '[1]' }],
  ])('returns %s', (_, value, expected) => {
    expect(fromHandlerValue(value)).toEqual(expected);
  });
});

describe('hasCapability', () => {
  it('accepts any non-empty value, and only own properties', () => {
    expect(hasCapability({ A: 'false' }, 'A')).toBe(true);
    expect(hasCapability({ A: '' }, 'A')).toBe(false);
    expect(hasCapability({}, 'constructor')).toBe(false);
  });
});
