import { fieldTypes, storageModes, type FieldDefinition, type FieldType } from '@drover/contracts';
import type { Database } from '@drover/database';
import { createTestDatabase } from '@drover/database/testing';
import { Secret, systemRandomness } from '@drover/service-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compileFieldPattern } from '../pattern/compile-field-pattern.js';
import { postgresPattern } from '../pattern/postgres-pattern.js';
import { identifier, join, parameter, sql, type Sql } from '../sql/sql.js';
import { fieldExpression, tableOf } from '../storage/field-expression.js';
import { collectionTestSchema, createCollectionTables, testCollection } from '../testing/index.js';
import { FieldCipher } from './field-cipher.js';
import { codecsOf } from './field-codec.js';
import { ValueProblem } from './value-problem.js';

let server: Awaited<ReturnType<typeof createTestDatabase>>;
let database: Database;
beforeAll(async () => {
  server = await createTestDatabase(collectionTestSchema);
  database = await server.connect();
});
afterAll(() => server.drop());

const cipher = new FieldCipher(new Secret('a key for the tests of values'), systemRandomness);
const run = <R extends object>(statement: Sql): Promise<R[]> => {
  const { text, values } = statement.render();
  return database.query<R>(text, values);
};

const stored = fieldTypes.filter((type) => !['FORMULA', 'ROLLUP_SUMMARY', 'AUTO_NUMBER'].includes(type));
const settings: Partial<Record<FieldType, Partial<FieldDefinition>>> = {
  EXTERNAL_ID: { unique: false }, // values are random
  PICKLIST: { values: ['a', 'ü "'] },
  MULTI_PICKLIST: { values: ['a', 'ü "', '{,}', 'NULL'] },
  LOOKUP: { references: { collection: 'others', as: 'one' } },
  MASTER_DETAIL: { references: { collection: 'others', as: 'two' }, required: false },
};
const fields = stored.map((type): FieldDefinition => ({ name: type.toLowerCase(), type, ...settings[type] }));

const digits = (most: number): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.constantFrom('', '-'),
      fc.stringMatching(new RegExp(`^[0-9]{1,${most}}$`)),
      fc.stringMatching(/^(\.[0-9]{1,4})?$/),
    )
    .map((parts) => parts.join(''));
/** Values of the kind that fields take, and any other JSON. */
const anything = fc.oneof(
  fc.jsonValue(),
  fc.string({ unit: 'binary' }),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  digits(20),
  fc.integer({ min: -(10 ** 12), max: 10 ** 12 }).map((cents) => cents / 100),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  fc
    .date({ noInvalidDate: true, min: new Date('0001-01-01'), max: new Date('9999-12-31') })
    .map((date) => date.toISOString().slice(0, 10)),
  fc.uuid(),
  fc.emailAddress(),
  fc.webUrl(),
  fc.record({ latitude: fc.double({ min: -90, max: 90 }), longitude: fc.double({ min: -180, max: 180 }) }),
  fc.subarray(['a', 'ü "', '{,}', 'NULL']),
  fc.constantFrom('+49 30 12', 'a', 'ü "', '9223372036854775807', '1234567890123456.78', '\u0000', '\ud800', '\\u0000'),
);

describe('values that a codec accepts', () => {
  it.each(storageModes)('are stored and read back unchanged in %s', async (storageMode) => {
    const collection = testCollection({ name: `things_${storageMode}`, storageMode, fields });
    await createCollectionTables(database, collection);
    const codecs = codecsOf(collection, cipher);
    const rows = fc.sample(fc.array(anything, { minLength: 40, maxLength: 40 }), 50).map((values, index) => {
      const accepted = [...codecs.values()].flatMap((codec) => {
        const value = values
          .map((each) => codec.parse(each))
          .find((each) => !(each instanceof ValueProblem) && each !== null);
        return value === undefined ? [] : [[codec.field.column, value] as const];
      });
      return { id: `0197a5f1-0000-7000-8000-${String(index).padStart(12, '0')}`, values: Object.fromEntries(accepted) };
    });
    const rare = fields.filter(({ name }) => rows.filter(({ values }) => name in values).length < 3);
    expect(rare).toEqual([]);

    const system = {
      tenant_id: 'acme',
      version: 1,
      created_at: '2026-01-01T00:00:00Z',
      updated_at: '2026-01-01T00:00:00Z',
      created_by: 'k',
      updated_by: 'k',
    };
    const documents = rows.map(({ id, values }) =>
      storageMode === 'JSONB'
        ? { ...system, id, collection_id: collection.id, data: values }
        : { ...system, id, ...values },
    );
    await run(
      sql`insert into ${tableOf(collection)} select * from jsonb_populate_recordset(null::${tableOf(collection)}, ${parameter(JSON.stringify(documents))}::jsonb)`,
    );
    const row = identifier('r');
    const columns = [...collection.fields.values()].map(
      (field) => sql`${fieldExpression(collection, field, row)} as ${identifier(field.column)}`,
    );
    const found = await run<{ record: Record<string, unknown> }>(
      sql`select to_jsonb(s) as record from (select ${join(columns, sql`, `)} from ${tableOf(collection)} r order by id) s`,
    );
    const comparable = (name: string, value: unknown): unknown => {
      if (value === undefined || value === null) return null;
      if (name === 'datetime') return Date.parse(value as string);
      return typeof value === 'string' && ['long', 'currency'].includes(name) ? Number(value) : value;
    };
    const all = (values: Record<string, unknown>): unknown =>
      fields.map(({ name }) => [name, comparable(name, values[name])]);
    expect(found.map(({ record }) => all(record))).toEqual(
      rows.map(({ values }) => all(JSON.parse(JSON.stringify(values)))),
    );
  });
});

describe('the longest texts that codecs accept', () => {
  it.each(storageModes)('fit into all indexes in %s', async (storageMode) => {
    const names = Array.from({ length: 8 }, (_, index) => `t${index}`);
    const texts = names.map((name): FieldDefinition => ({ name, type: 'STRING' }));
    const collection = testCollection(
      {
        name: `long_${storageMode}`,
        storageMode,
        fields: [
          ...texts,
          { name: 'alone', type: 'STRING', unique: true },
          { name: 'sorted', type: 'TEXT', indexed: true },
        ],
        uniqueSets: [names],
        indexes: [['-alone', 'sorted']],
      },
      { tenantId: 't'.repeat(63) },
    );
    await createCollectionTables(database, collection);
    const values = [...codecsOf(collection, cipher).values()].map(({ field, ...codec }) => {
      const lengths = Array.from({ length: 2_700 }, (_, index) => 2_700 - index);
      // Random letters: PostgreSQL compresses others.
      const text = systemRandomness.bytes(2_700).toString('base64').slice(0, 2_700);
      const longest = lengths.find((length) => !(codec.parse(text.slice(0, length)) instanceof ValueProblem)) ?? 0;
      expect(longest).toBeGreaterThan(300);
      return [field.column, text.slice(0, longest)];
    });
    const system = {
      tenant_id: collection.tenantId,
      id: '0197a5f1-0000-7000-8000-000000000001',
      version: 1,
      created_at: '2026-01-01T00:00:00Z',
      updated_at: '2026-01-01T00:00:00Z',
      created_by: 'k',
      updated_by: 'k',
    };
    const data = Object.fromEntries(values);
    const document =
      storageMode === 'JSONB' ? { ...system, collection_id: collection.id, data } : { ...system, ...data };
    const inserted = await run(
      sql`insert into ${tableOf(collection)} select * from jsonb_populate_record(null::${tableOf(collection)}, ${parameter(JSON.stringify(document))}::jsonb) returning id`,
    );
    expect(inserted).toHaveLength(1);
  });
});

describe('a pattern', () => {
  it('matches the same texts in PostgreSQL', async () => {
    const patterns = [
      'abc',
      'a|bc|',
      '(a|b)*c',
      'a{2,3}',
      '[^a-c]',
      '\\d+\\.\\d{2}',
      '[\\w.-]+',
      '\\S \\D\\W',
      '.',
      'a^b',
      '^a$',
      '[\\]\\\\-]',
      '\\u{1F600}',
      '(a*)*b',
      '(|a)+',
      '[\\u00e0-\\u00ff]*',
      '(?:ab)+?',
    ];
    const texts = [
      '',
      'a',
      'b',
      'aa',
      'aaaa',
      'ab',
      'abab',
      'abc',
      'bc',
      '12.50',
      '\n',
      ' ',
      'AB',
      '😀',
      'é',
      ']',
      '\\',
      'a b!',
      'a\nb',
      '٣',
    ];
    const compiled = patterns.map((source) => {
      const pattern = compileFieldPattern(source);
      if ('problem' in pattern) throw new Error(pattern.problem);
      return { source, pattern, translated: postgresPattern(pattern.node) };
    });
    const rows = await run<{ pattern: string; text: string; matches: boolean }>(
      sql`select pattern, text, text ~ pattern as matches from unnest(${parameter(compiled.map(({ translated }) => translated))}::text[]) pattern, unnest(${parameter(texts)}::text[]) text`,
    );
    for (const { source, pattern, translated } of compiled) {
      const found = rows.filter((row) => row.pattern === translated && row.matches).map(({ text }) => text);
      expect({ source, found: found.toSorted() }).toEqual({ source, found: texts.filter(pattern.matches).toSorted() });
    }
  });
});
