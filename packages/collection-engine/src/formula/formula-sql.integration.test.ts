import type { CollectionDefinition, FieldDefinition, StorageMode } from '@drover/contracts';
import { databaseMigrations, type Database } from '@drover/database';
import { createTestDatabase } from '@drover/database/testing';
import { Secret, systemRandomness } from '@drover/service-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CollectionModel, FindCollection } from '../model/collection-model.js';
import { compileCollection } from '../model/compile-collection.js';
import { identifier, join, parameter, sql, type Sql } from '../sql/sql.js';
import { collectionMigrations } from '../storage/collection-migrations.js';
import { createTable } from '../storage/create-table.js';
import { tableOf } from '../storage/field-expression.js';
import { FieldCipher } from '../values/field-cipher.js';
import { codecsOf } from '../values/field-codec.js';
import { ValueProblem, type StoredValue } from '../values/value-problem.js';
import { compileFormulaField } from './compile-formula.js';
import { computedFields } from './computed-fields.js';
import { evaluateFormula } from './evaluate-formula.js';
import type { FormulaExpression } from './formula-expression.js';
import { formulaSql } from './formula-sql.js';

const cipher = new FieldCipher(new Secret('a key for the tests of formulas'), systemRandomness);
const modes: readonly StorageMode[] = ['PHYSICAL_TABLE', 'JSONB'];
const row = identifier('r');

let server: Awaited<ReturnType<typeof createTestDatabase>>;
let database: Database;
beforeAll(async () => {
  server = await createTestDatabase([databaseMigrations, collectionMigrations]);
  database = await server.connect({ poolSize: 1 });
  await database.query(`set timezone to 'America/New_York'`); // results must not depend on it
});
afterAll(() => server.drop());

const run = async <R extends object>(statement: Sql): Promise<R[]> => {
  const { text, values } = statement.render();
  return database.query<R>(text, values);
};

let tables = 0;
async function create(definition: CollectionDefinition): Promise<CollectionModel> {
  tables += 1;
  const id = `0197a5f0-0000-7000-8000-${String(tables).padStart(12, '0')}`;
  const collection = compileCollection({
    id,
    tenantId: 'acme',
    version: 1,
    definition,
    table: `t${tables}`,
    columns: {},
  });
  await run(createTable(collection));
  return collection;
}

let records = 0;
const idAt = (index: number): string => `0197a5f1-0000-7000-8000-${String(index).padStart(12, '0')}`;

/** Inserts a record as stored values; returns its id. */
async function insert(collection: CollectionModel, values: Record<string, StoredValue>, more = {}): Promise<string> {
  records += 1;
  const id = idAt(records);
  const system = {
    tenant_id: 'acme',
    id,
    version: 1,
    created_at: '2026-01-02T03:04:05.678901Z',
    updated_at: '2026-01-02T03:04:05Z',
    created_by: 'k',
    updated_by: 'k',
    ...more,
  };
  const document =
    collection.storageMode === 'JSONB'
      ? { ...system, collection_id: collection.id, data: values }
      : { ...system, ...values };
  await run(
    sql`insert into ${tableOf(collection)} select * from jsonb_populate_record(null::${tableOf(collection)}, ${parameter(JSON.stringify(document))}::jsonb)`,
  );
  return id;
}

const fields: FieldDefinition[] = [
  { name: 'int', type: 'INTEGER' },
  { name: 'long', type: 'LONG' },
  { name: 'double', type: 'DOUBLE' },
  { name: 'money', type: 'CURRENCY' },
  { name: 'share', type: 'PERCENT' },
  { name: 'word', type: 'STRING' },
  { name: 'order-no', type: 'TEXT' },
  { name: 'flag', type: 'BOOLEAN' },
  { name: 'day', type: 'DATE' },
  { name: 'time', type: 'DATETIME' },
  { name: 'extra', type: 'JSON' },
];

const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(arbitrary, { freq: 5 });
const letters = fc.string({ unit: fc.constantFrom(...Array.from('aAbZz09 .-+\t\n\\\'"éÉßжЖ漢😀%_')), maxLength: 6 });
const dates = fc.date({ min: new Date('0001-01-02'), max: new Date('9999-12-30'), noInvalidDate: true });
const record = fc.record({
  int: optional(fc.integer()),
  long: optional(fc.oneof(fc.maxSafeInteger(), fc.constant('9223372036854775807'))),
  double: optional(
    fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom(0.1, 12_345_678_901.031_25, 1e15 + 5, 2.5),
    ),
  ),
  money: optional(
    fc.oneof(
      fc.integer().map((cents) => cents / 100),
      fc.constant('-1234567890123456.78'),
    ),
  ),
  share: optional(fc.integer({ min: -9_999_999, max: 9_999_999 }).map((parts) => parts / 10_000)),
  word: optional(letters),
  'order-no': optional(fc.oneof(letters, fc.constantFrom(' 12.5 ', '-3', '1e3', 'ab12'))),
  flag: optional(fc.boolean()),
  day: optional(dates.map((date) => date.toISOString().slice(0, 10))),
  time: optional(dates.map((date) => date.toISOString())),
  extra: optional(fc.constantFrom({ a: 1 }, [], 'x')),
});

const call = (name: string, ...operands: fc.Arbitrary<string>[]): fc.Arbitrary<string> =>
  fc.tuple(...operands).map((texts) => `${name}(${texts.join(', ')})`);
const between = (operator: string, left: fc.Arbitrary<string>, right: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(left, right).map(([one, other]) => `(${one} ${operator} ${other})`);
const quoted = letters.map((text) => `'${text.replaceAll(/[\\']/g, '\\$&')}'`);
const patterns = fc.constantFrom(
  "'[a-zé]*'",
  "'\\\\d+|.'",
  "'(a|ab)*b?'",
  "'[^a-z0-9]+'",
  "'\\\\s*\\\\S*'",
  "'^.{1,3}$'",
);

/** Random formulas of every type, as users would write them. */
const formulas = fc.letrec<Record<'number' | 'text' | 'boolean' | 'date' | 'datetime', string>>((tie) => {
  const [number, text, boolean, date, datetime] = [
    tie('number'),
    tie('text'),
    tie('boolean'),
    tie('date'),
    tie('datetime'),
  ];
  const any = fc.oneof(number, text, boolean, date, datetime);
  const depth = { maxDepth: 4, depthSize: 'small' as const, withCrossShrink: true };
  const shared = (of: fc.Arbitrary<string>): fc.Arbitrary<string>[] => [
    call('IF', boolean, of, fc.oneof(of, fc.constant('NULL'))),
    call('BLANKVALUE', of, of),
  ];
  const compared = (of: fc.Arbitrary<string>): fc.Arbitrary<string>[] =>
    ['=', '!=', '<', '<=', '>', '>='].map((operator) => between(operator, of, of));
  return {
    number: fc.oneof(
      depth,
      fc
        .constantFrom('0', '1', '2.5', '0.1', '3', '1000000', '123456789.123456789', '1e', '7')
        .map((literal) => literal.replace('e', '000')),
      fc.constantFrom('int', 'long', 'double', 'money', 'share', 'version'),
      ...['+', '-', '*', '/'].map((operator) => between(operator, number, number)),
      number.map((operand) => `(- ${operand})`),
      call('ABS', number),
      call('ROUND', number, fc.constantFrom('0', '2', '-3', '12')),
      call('MAX', number, number, number),
      call('MIN', number, number),
      call('LEN', text),
      call('VALUE', text),
      call('DATEDIFF', fc.oneof(date, datetime), date),
      between('-', date, date),
      ...shared(number),
    ),
    text: fc.oneof(
      depth,
      quoted,
      fc.constantFrom('word', '{order-no}', 'createdBy'),
      between('+', text, text),
      ...['UPPER', 'LOWER', 'TRIM'].map((name) => call(name, text)),
      call('TEXT', any),
      ...shared(text),
    ),
    boolean: fc.oneof(
      depth,
      fc.constantFrom('TRUE', 'FALSE', 'flag', 'flag'),
      ...compared(number),
      ...compared(text),
      ...compared(fc.oneof(date, datetime)),
      between('>', datetime, fc.constantFrom("'2026-01-01'", "'2026-01-01T12:00:00+01:00'")),
      between('&&', boolean, boolean),
      between('||', boolean, boolean),
      boolean.map((operand) => `(!${operand})`),
      call('AND', boolean, boolean, boolean),
      call('NOT', boolean),
      call('ISBLANK', fc.oneof(any, fc.constant('extra'))),
      call('CONTAINS', text, text),
      call('REGEX', text, patterns),
    ),
    date: fc.oneof(
      depth,
      fc.constantFrom('day', 'TODAY()'),
      between('+', date, number),
      between('-', date, number),
      call('MAX', date, date),
      ...shared(date),
    ),
    datetime: fc.oneof(
      depth,
      fc.constantFrom('time', 'NOW()', 'createdAt'),
      call('MIN', datetime, date),
      ...shared(datetime),
    ),
  };
});
const returned = { number: 'DOUBLE', text: 'STRING', boolean: 'BOOLEAN', date: 'DATE', datetime: 'DATETIME' } as const;
const anyFormula = fc.oneof(
  ...Object.entries(returned).map(([type, returns]) =>
    formulas[type as keyof typeof returned].map((expression) => ({ expression, returns })),
  ),
);

/** The text of any result. */
function shown(expression: FormulaExpression): FormulaExpression {
  if (expression.type === 'text' || expression.type === 'other') return expression;
  return { kind: 'operation', type: 'text', name: `${expression.type}ToText`, operands: [expression] };
}

describe('a formula', () => {
  it('has the same value in Node and in PostgreSQL, in both storage modes', async () => {
    const samples = fc.sample(record, 24);
    const collections = await Promise.all(modes.map((storageMode) => create({ name: 'things', storageMode, fields })));
    const codecs = collections.map((collection) => codecsOf(collection, cipher));
    const stored = samples.map((values) =>
      Object.fromEntries(
        Object.entries(values).map(([name, value]) => {
          const parsed = codecs[0]?.get(name)?.parse(value) ?? null;
          if (parsed instanceof ValueProblem) throw new Error(parsed.message);
          return [name, parsed];
        }),
      ),
    );
    for (const collection of collections) for (const values of stored) await insert(collection, values);

    await fc.assert(
      fc.asyncProperty(fc.array(anyFormula, { minLength: 8, maxLength: 8 }), async (written) => {
        const defined = written.map(
          (formula, index): FieldDefinition => ({ name: `f${index}`, type: 'FORMULA', formula }),
        );
        for (const collection of collections) {
          const model = compileCollection({
            ...collection,
            definition: { ...collection.definition, fields: [...fields, ...defined] },
            columns: {},
          });
          const compiled = defined.flatMap(({ name }) => {
            const field = model.fields.get(name);
            const expression = field && compileFormulaField(model, field);
            return expression && !('problem' in expression) ? [shown(expression)] : [];
          });
          expect(compiled.length).toBe(written.length);
          const rollup = (): Sql => sql`null`;
          const columns = compiled.map((expression) =>
            formulaSql(expression, { collection: model, alias: row, rollup }),
          );
          const rows = await run<{ found: (string | null)[]; now: Date }>(
            sql`select array[${join(columns, sql`, `)}] as found, now() from ${tableOf(model)} r order by id`,
          );
          const inNode = stored.map((values, index) =>
            compiled.map((expression) =>
              evaluateFormula(expression, {
                values,
                attributes: { version: 1, createdAt: '2026-01-02T03:04:05.678Z', createdBy: 'k' },
                nowMs: rows[index]?.now.getTime() ?? 0,
              }),
            ),
          );
          expect(rows.map(({ found }) => found)).toEqual(inNode);
        }
      }),
      { numRuns: 12 },
    );
  });
});

describe('computed fields', () => {
  it.each(modes)('are read with their records (%s)', async (storageMode) => {
    const orders = await create({
      name: 'orders',
      storageMode,
      fields: [
        { name: 'paid', type: 'CURRENCY' },
        ...(['COUNT', 'SUM', 'MIN', 'MAX', 'AVG'] as const).map(
          (name): FieldDefinition => ({
            name: name.toLowerCase(),
            type: 'ROLLUP_SUMMARY',
            rollup: { collection: 'lines', via: 'order', function: name, ...(name !== 'COUNT' && { field: 'amount' }) },
          }),
        ),
        {
          name: 'gifts',
          type: 'ROLLUP_SUMMARY',
          rollup: { collection: 'lines', via: 'order', function: 'COUNT', where: { gift: true, amount: 5 } },
        },
        {
          name: 'plain',
          type: 'ROLLUP_SUMMARY',
          rollup: { collection: 'lines', via: 'order', function: 'COUNT', where: { gift: null } },
        },
        {
          name: 'open',
          type: 'FORMULA',
          formula: { expression: 'ROUND(sum * 1.19, 2) - BLANKVALUE(paid, 0)', returns: 'DOUBLE' },
        },
        { name: 'lost', type: 'ROLLUP_SUMMARY', rollup: { collection: 'gone', via: 'order', function: 'COUNT' } },
      ],
    });
    const lines = await create({
      name: 'lines',
      storageMode,
      fields: [
        { name: 'order', type: 'LOOKUP', references: { collection: 'orders' } },
        { name: 'amount', type: 'DOUBLE' },
        { name: 'gift', type: 'BOOLEAN' },
      ],
    });
    const [full, bare] = [await insert(orders, { paid: 5 }), await insert(orders, {})];
    await insert(lines, { order: full, amount: 5, gift: true });
    await insert(lines, { order: full, amount: 10.1, gift: false });
    await insert(lines, { order: full, amount: 0.2 });
    await insert(lines, { order: full, amount: 100, gift: true }, { deleted_at: '2026-01-01T00:00:00Z' });
    await insert(lines, { order: full, amount: 100, gift: true }, { tenant_id: 'other' });
    const find: FindCollection = (_, name) =>
      name === 'lines'
        ? Promise.resolve(lines)
        : Promise.reject(Object.assign(new Error(name), { code: 'COLLECTION_UNKNOWN' }));
    const computed = await computedFields(orders, find, { mayRead: () => true });
    const columns = [...computed].map(([name, expression]) => sql`${expression(row)} as ${identifier(name)}`);
    const rows = await run<{ record: object }>(
      sql`select (select row_to_json(c) from (select ${join(columns, sql`, `)}) as c) as record from ${tableOf(orders)} r order by id`,
    );
    expect(rows.map(({ record: found }) => found)).toEqual([
      { count: 3, sum: 15.3, min: 0.2, max: 10.1, avg: 5.1, gifts: 1, plain: 1, open: 13.21, lost: null },
      { count: 0, sum: 0, min: null, max: null, avg: null, gifts: 0, plain: 0, open: 0, lost: null },
    ]);
    expect(bare).not.toBe(full);
  });
});
