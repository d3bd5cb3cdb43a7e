import type { FieldDefinition } from '@drover/contracts';
import { Secret, systemRandomness } from '@drover/service-kit';
import { describe, expect, it } from 'vitest';
import type { CollectionModel } from '../model/collection-model.js';
import { compileCollection } from '../model/compile-collection.js';
import { codecsOf, type FieldCodec } from './field-codec.js';
import { FieldCipher } from './field-cipher.js';
import { ValueProblem } from './value-problem.js';

const cipher = new FieldCipher(new Secret('a key for the tests of fields'), systemRandomness);
const id = '0197a5f0-0000-7000-8000-000000000001';

function collectionOf(fields: readonly FieldDefinition[], more = {}): CollectionModel {
  const definition = { name: 'things', fields: [...fields], ...more };
  return compileCollection({ id, tenantId: 'acme', version: 1, definition, table: 't', columns: {} });
}

function codecOf(field: Omit<FieldDefinition, 'name'>, more = {}): FieldCodec {
  const codec = codecsOf(collectionOf([{ name: 'a', ...field }], more), cipher).get('a');
  if (!codec) throw new Error('no codec');
  return codec;
}

/** The stored value, or the violated constraint. */
const outcome = (stored: unknown): unknown =>
  stored instanceof ValueProblem ? { violated: stored.constraint } : stored;
const bad = (violated: string): unknown => ({ violated });

describe('the codec of a field', () => {
  const values = ['new', 'paid'];
  it.each<[Omit<FieldDefinition, 'name'>, [unknown, unknown][]]>([
    [
      { type: 'STRING' },
      [
        ['é\n', 'é\n'],
        [5, bad('type')],
        ['a\0', bad('type')],
        ['\ud800', bad('type')],
        ['😀', '😀'],
      ],
    ],
    [
      { type: 'INTEGER' },
      [
        [5, 5],
        [-0, 0],
        [5.5, bad('type')],
        ['5', bad('type')],
        [2 ** 31 - 1, 2 ** 31 - 1],
        [2 ** 31, bad('type')],
      ],
    ],
    [
      { type: 'LONG' },
      [
        [2 ** 53 - 1, 2 ** 53 - 1],
        [2 ** 53, bad('type')],
        ['12', 12],
        ['9223372036854775807', '9223372036854775807'],
        ['-9223372036854775808', '-9223372036854775808'],
        ['9223372036854775808', bad('type')],
      ],
    ],
    [
      { type: 'DOUBLE' },
      [
        [1.5, 1.5],
        [Infinity, bad('type')],
        [null, null],
      ],
    ],
    [
      { type: 'CURRENCY' },
      [
        [19.99, 19.99],
        ['19.90', 19.9],
        [-0.0, 0],
        [19.999, bad('type')],
        [1e-7, bad('type')],
        ['1234567890123456.78', '1234567890123456.78'],
        ['-0001234567890123456.780', '-1234567890123456.78'],
        [1e16, bad('type')],
        ['1e3', bad('type')],
        ['.', bad('type')],
        ['', bad('type')],
      ],
    ],
    [
      { type: 'PERCENT' },
      [
        [50, 50],
        [12.3456, 12.3456],
        [12.345_67, bad('type')],
        [10_000, bad('type')],
      ],
    ],
    [
      { type: 'BOOLEAN' },
      [
        [true, true],
        ['true', bad('type')],
        [0, bad('type')],
      ],
    ],
    [
      { type: 'DATE' },
      [
        ['2024-02-29', '2024-02-29'],
        ['2023-02-29', bad('type')],
        ['0000-01-01', bad('type')],
        ['2024-1-1', bad('type')],
      ],
    ],
    [
      { type: 'DATETIME' },
      [
        ['2024-02-29T12:00:00+02:00', '2024-02-29T10:00:00.000Z'],
        ['2024-02-29T12:00', '2024-02-29T12:00:00.000Z'],
        ['2024-02-29 12:00:00.123456Z', '2024-02-29T12:00:00.123Z'],
        ['0099-02-28T12:00:00Z', '0099-02-28T12:00:00.000Z'],
        ['2024-02-30T12:00:00Z', bad('type')],
        ['2024-02-29T12:00:00.5Z', '2024-02-29T12:00:00.500Z'],
        ['2024-02-29T24:00:00Z', bad('type')],
        ['2024-02-29T23:59:60.000Z', bad('type')],
        ['0000-02-29T12:00:00Z', bad('type')],
        ['2023-02-29T12:00:00.000Z', bad('type')],
        ['2024-02-29', bad('type')],
        ['9999-12-31T23:59:59-10:00', bad('type')],
        [1_700_000_000_000, bad('type')],
      ],
    ],
    [
      { type: 'JSON' },
      [
        [{ a: [1, null] }, { a: [1, null] }],
        ['\\u0000', '\\u0000'],
        [{ a: '\0' }, bad('type')],
        [['\udc00'], bad('type')],
      ],
    ],
    [
      { type: 'ARRAY', constraints: { minItems: 1, itemType: 'string' } },
      [
        [['a'], ['a']],
        [[], bad('minItems')],
        [[1], bad('itemType')],
        ['a', bad('type')],
      ],
    ],
    [
      { type: 'LOOKUP', references: { collection: 'b' } },
      [
        [id.toUpperCase(), id],
        ['5', bad('type')],
      ],
    ],
    [
      { type: 'PICKLIST', values },
      [
        ['new', 'new'],
        ['old', bad('picklist')],
        [5, bad('type')],
      ],
    ],
    [
      { type: 'MULTI_PICKLIST', values },
      [
        [
          ['paid', 'new', 'paid'],
          ['paid', 'new'],
        ],
        [['old'], bad('picklist')],
        ['new', bad('type')],
      ],
    ],
    [
      { type: 'PHONE' },
      [
        ['+49 (30) 123-45', '+49 (30) 123-45'],
        ['call me', bad('type')],
        ['+', bad('type')],
        ['1'.repeat(41), bad('maxLength')],
      ],
    ],
    [
      { type: 'EMAIL' },
      [
        ['ada@exämple.com', 'ada@exämple.com'],
        ['ada@host', bad('type')],
        ['a@b@c.d', bad('type')],
        ['.a@b.cd', bad('type')],
        ['a@-b.cd', bad('type')],
      ],
    ],
    [
      { type: 'URL' },
      [
        ['https://example.com/ä?b', 'https://example.com/ä?b'],
        ['javascript:alert(1)', bad('type')],
        ['example.com', bad('type')],
        ['http://', bad('type')],
      ],
    ],
    [
      { type: 'EXTERNAL_ID' },
      [
        ['x-1', 'x-1'],
        [' ', bad('type')],
      ],
    ],
    [
      { type: 'GEOLOCATION' },
      [
        [
          { latitude: 1, longitude: -180 },
          { latitude: 1, longitude: -180 },
        ],
        [{ latitude: 91, longitude: 0 }, bad('type')],
        [{ latitude: 1 }, bad('type')],
        [{ latitude: 1, longitude: 1, z: 1 }, bad('type')],
      ],
    ],
    [{ type: 'AUTO_NUMBER' }, [['A-1', bad('readOnly')]]],
    [
      { type: 'STRING', required: true },
      [
        [null, bad('nullable')],
        [undefined, bad('nullable')],
        ['', ''],
      ],
    ],
    [
      { type: 'STRING', constraints: { minLength: 2, maxLength: 3 } },
      [
        ['a', bad('minLength')],
        ['😀', bad('minLength')],
        ['😀😀😀', '😀😀😀'],
        ['abcd', bad('maxLength')],
      ],
    ],
    [
      { type: 'STRING', constraints: { pattern: '[A-Z]{2}-\\d+' } },
      [
        ['AB-12', 'AB-12'],
        ['xAB-12', bad('pattern')],
      ],
    ],
    [
      { type: 'DOUBLE', constraints: { minValue: 0.5, maxValue: 2 } },
      [
        [0.4, bad('minValue')],
        [2.5, bad('maxValue')],
        [1, 1],
      ],
    ],
    [
      { type: 'INTEGER', constraints: { enum: [1, 2] } },
      [
        [2, 2],
        [3, bad('enum')],
      ],
    ],
  ])('reads %j', (field, cases) => {
    const codec = codecOf(field);
    expect(cases.map(([value]) => outcome(codec.parse(value)))).toEqual(cases.map(([, expected]) => expected));
  });

  it('names the field, the value and what is expected', () => {
    expect(codecOf({ type: 'INTEGER' }).parse('many')).toMatchObject({
      constraint: 'type',
      message: 'Field "a" must be an integer, not "many".',
    });
  });

  it('has the default of the definition, as it is stored', () => {
    expect(codecOf({ type: 'DATETIME', default: '2024-01-01T00:00:00+01:00' }).defaultValue).toBe(
      '2023-12-31T23:00:00.000Z',
    );
    expect(codecOf({ type: 'BOOLEAN', default: false }).defaultValue).toBe(false);
    expect(codecOf({ type: 'STRING' }).defaultValue).toBeNull();
  });

  it('refuses texts that an index cannot hold', () => {
    const text = 'é'.repeat(1_000);
    expect(codecOf({ type: 'STRING' }).parse(text)).toBe(text);
    expect(codecOf({ type: 'STRING', indexed: true }).parse(text)).toBe(text);
    expect(codecOf({ type: 'STRING', indexed: true }).parse(text + text)).toMatchObject({ constraint: 'maxLength' });
    expect(codecOf({ type: 'STRING' }, { indexes: [['-a']] }).parse(text + text)).toMatchObject({
      constraint: 'maxLength',
    });
  });

  it('takes only codes of ISO 4217 for a field that holds the currency of another', () => {
    const codecs = codecsOf(
      collectionOf([
        { name: 'price', type: 'CURRENCY', currency: { codeField: 'code' } },
        { name: 'code', type: 'STRING' },
      ]),
      cipher,
    );
    expect(outcome(codecs.get('code')?.parse('EUR'))).toBe('EUR');
    expect(outcome(codecs.get('code')?.parse('EURO'))).toEqual(bad('maxLength'));
    expect(outcome(codecs.get('code')?.parse('XQZ'))).toEqual(bad('type'));
  });
});

describe('an ENCRYPTED field', () => {
  const collection = collectionOf([{ name: 'a', type: 'ENCRYPTED', constraints: { minLength: 3 } }]);
  const stored = codecsOf(collection, cipher).get('a')?.parse('sécret "1"') as string;
  const marked = (column: string): string => `{"a":"drover\\/sealed:${id}:${column}:${stored.slice(2)}","b":1}`;

  it('is stored as ciphertext, different each time, and opened in the JSON of a record', () => {
    expect(stored).toMatch(/^\\x[0-9a-f]+$/);
    expect(codecsOf(collection, cipher).get('a')?.parse('sécret "1"')).not.toBe(stored);
    expect(JSON.parse(cipher.openAll('acme', marked('a')))).toEqual({ a: 'sécret "1"', b: 1 });
    expect(codecsOf(collection, cipher).get('a')?.parse('ab')).toMatchObject({ constraint: 'minLength' });
  });

  it('does not open for another tenant, in another field, or with another key', () => {
    expect(() => cipher.openAll('other', marked('a'))).toThrow('another key');
    expect(() => cipher.openAll('acme', marked('b'))).toThrow('copied from another field');
    const stranger = new FieldCipher(new Secret('another key than that of the fields'), systemRandomness);
    expect(() => stranger.openAll('acme', marked('a'))).toThrow('DROVER_SECRETS_KEY');
  });

  it('is not what a client wrote to look like one', () => {
    const forged = JSON.stringify({ a: `drover/sealed:${id}:a:01`, b: JSON.parse(marked('a')) as unknown });
    expect(cipher.openAll('acme', forged)).toBe(forged);
  });

  it('needs a key', () => {
    const keyless = new FieldCipher(undefined, systemRandomness);
    const fresh = collectionOf([{ name: 'a', type: 'ENCRYPTED' }]);
    expect(() => codecsOf(fresh, keyless).get('a')?.parse('x')).toThrow('DROVER_SECRETS_KEY');
  });
});
