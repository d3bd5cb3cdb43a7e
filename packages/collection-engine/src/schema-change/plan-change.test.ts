import type { CollectionDefinition, FieldDefinition } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import type { StoredCollection } from '../model/collection-model.js';
import { chooseColumns } from '../storage/choose-names.js';
import { describeChange } from './describe-change.js';
import { isMetadataOnly, needsCleanup, planChange, type PlannedChange } from './plan-change.js';

const text = (name: string, more: Partial<FieldDefinition> = {}): FieldDefinition => ({
  name,
  type: 'STRING',
  ...more,
});

function collection(fields: readonly FieldDefinition[], more: Partial<CollectionDefinition> = {}): StoredCollection {
  const definition: CollectionDefinition = { name: 'orders', fields: [...fields], ...more };
  return { id: 'id', tenantId: 'acme', version: 3, definition, table: 'orders_1', columns: chooseColumns(definition) };
}

function plan(
  before: readonly FieldDefinition[],
  after: readonly FieldDefinition[],
  more: Partial<CollectionDefinition> = {},
  taken: readonly string[] = [],
): PlannedChange {
  const stored = collection(before, more);
  const columns = Object.values(stored.columns);
  return planChange(stored, { name: 'orders', ...more, fields: [...after] }, [...columns, ...taken]);
}

const about = (change: PlannedChange): string[] => describeChange(change).map((step) => step.about);

describe('the plan of a change', () => {
  it('is empty for the same definition', () => {
    const change = plan([text('a', { unique: true })], [text('a', { default: undefined, unique: true })]);
    expect([about(change), isMetadataOnly(change), needsCleanup(change)]).toEqual([[], true, false]);
  });

  it('keeps the column of a renamed field, and gives a new field of the old name another one', () => {
    const change = plan([text('a', { indexed: true })], [text('b', { formerName: 'a', indexed: true }), text('a')]);
    expect(change.columns).toEqual({ b: 'a', a: 'a_2' });
    expect(change.indexes).toEqual([]);
    expect(change.added.map(({ column }) => column)).toEqual(['a_2']);
    expect(change.after.definition.fields).toEqual([text('b', { indexed: true }), text('a')]);
  });

  it('ignores a former name when the same file is applied again', () => {
    const file = [text('b', { formerName: 'a' }), text('a')];
    const again = planChange(
      { ...collection([text('b'), text('a')]), columns: { b: 'a', a: 'a_2' } },
      { name: 'orders', fields: file },
      ['a', 'a_2'],
    );
    expect([about(again), again.columns]).toEqual([[], { b: 'a', a: 'a_2' }]);
  });

  it('never uses a column again, so that values of a removed field do not come back', () => {
    expect(plan([text('b')], [text('a')], {}, ['a']).columns).toEqual({ a: 'a_2' });
    expect(plan([{ name: 'a', type: 'INTEGER' }], [{ name: 'a', type: 'DOUBLE' }]).columns).toEqual({ a: 'a_2' });
  });

  it('cuts names of columns at 63 bytes, between characters', () => {
    const [name, taken] = ['é'.repeat(31), 'é'.repeat(31)];
    const [column = ''] = Object.values(plan([], [text(name)], {}, [taken]).columns);
    expect([column, Buffer.byteLength(column) <= 63]).toEqual([`${'é'.repeat(30)}_2`, true]);
  });

  it('keeps the column where both types store values in the same way', () => {
    const types = (
      from: FieldDefinition['type'],
      to: FieldDefinition['type'],
      more: Partial<CollectionDefinition> = {},
    ): PlannedChange => plan([{ name: 'a', type: from }], [{ name: 'a', type: to }], more);
    expect(isMetadataOnly(types('STRING', 'EMAIL'))).toBe(true);
    expect(isMetadataOnly(types('INTEGER', 'LONG', { storageMode: 'JSONB' }))).toBe(true);
    expect(types('INTEGER', 'LONG').columns).toEqual({ a: 'a_2' });
    expect(types('LONG', 'INTEGER', { storageMode: 'JSONB' }).retypeGates).toHaveLength(1);
    expect(types('INTEGER', 'LONG').retypeGates).toEqual([]);
  });

  it('fills what must have a value and leaves other defaults to new records', () => {
    const change = plan(
      [],
      [text('a', { required: true, default: 'x' }), text('b', { default: 'x' }), { name: 'n', type: 'AUTO_NUMBER' }],
    );
    expect(change.bridge.filled.map(({ name }) => name)).toEqual(['a', 'n']);
  });

  it('drops a unique index only when all workers know the new definition, and other indexes later', () => {
    const change = plan([text('a', { unique: true }), text('b', { indexed: true })], [text('a'), text('b')]);
    expect(change.loosened.indexes.map(({ fields }) => fields)).toEqual([['a']]);
    expect(change.unused.map(({ fields }) => fields)).toEqual([['b']]);
  });

  it('says what is done, and which values are lost', () => {
    const change = plan(
      [text('gone'), text('a'), { name: 'n', type: 'INTEGER' }],
      [
        text('b', { formerName: 'a', unique: true }),
        { name: 'n', type: 'STRING' },
        text('c', { required: true, default: 'c' }),
      ],
    );
    expect(about(change)).toEqual([
      'Add field "c" (STRING)',
      'Rename field "a" to "b"',
      'Change the type of "n" from INTEGER to STRING',
      'Fill "c" of the records without a value',
      'Check "required" of "c" in all records',
      'Build the unique index over "b"',
      'Remove field "gone" with its values',
    ]);
    expect(describeChange(change).filter(({ losesValues }) => losesValues)).toMatchObject([{ field: 'gone' }]);
  });
});
