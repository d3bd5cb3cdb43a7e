import type { CollectionDefinition } from '@drover/contracts';
import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { compileCollection } from '../model/compile-collection.js';
import type { RecordDatabase } from '../request/record-operation.js';
import { PreparedStatements } from '../sql/prepared-statements.js';
import type { SavePlan } from './save-records.js';
import { sharedSavesOf } from './shared-saves.js';

const definition: CollectionDefinition = { name: 'notes', fields: [{ name: 'text', type: 'STRING' }] };
const collection = compileCollection({ id: '', tenantId: 'acme', version: 1, definition, table: 't', columns: {} });

const planOf = (id: string): SavePlan => ({
  collection,
  kind: 'create',
  isArray: false,
  documents: [{ id, values: { text: id } }],
  references: [],
  rules: [],
  claims: [],
  view: { name: 'minimal', json: undefined },
});

/** A database whose statements end when the test says so. */
function paused() {
  const statements: { readonly size: number; readonly end: () => void }[] = [];
  const database: RecordDatabase = {
    query: <R extends object>(_statement: unknown, values: readonly unknown[] = []) =>
      new Promise<R[]>((resolve) => {
        const rows = values.find((value) => typeof value === 'string' && /^[[{]/.test(value)) as string;
        const size = [JSON.parse(rows) as unknown].flat().length;
        const saved = Array.from({ length: size }, (_, index) => ({ index, problem: null }) as unknown as R);
        statements.push({ size, end: () => resolve(saved) });
      }),
    transaction: () => Promise.reject(new Error('no conflict')),
  };
  const clock = new FakeClock();
  const by = { tenantId: 'acme', actor: 'key', statements: new PreparedStatements() };
  let next = 0;
  const save = (count: number): Promise<unknown>[] =>
    Array.from({ length: count }, () => {
      next += 1;
      return sharedSavesOf(database, clock).save(planOf(`r${next}`), by, database);
    });
  return { statements, clock, save };
}

/** Ends a statement, and lets its requests and the next statement follow. */
async function end(statement: { readonly end: () => void } | undefined): Promise<void> {
  statement?.end();
  await new Promise(setImmediate);
}

describe('saves of one moment', () => {
  it('share statements, and each request gets the row of its record', async () => {
    const { statements, save } = paused();
    const sizes = (): number[] => statements.map(({ size }) => size);
    const saved = save(12);
    expect(sizes()).toEqual([1, 1]);
    await end(statements[0]);
    expect(sizes()).toEqual([1, 1, 6]);
    await end(statements[1]);
    expect(sizes()).toEqual([1, 1, 6]); // four wait for a fifth
    saved.push(...save(1));
    expect(sizes()).toEqual([1, 1, 6, 5]);
    for (const statement of statements) await end(statement);
    expect(await Promise.all(saved)).toEqual(Array.from({ length: 13 }, () => [{ index: 0, problem: null }]));
  });

  it('do not wait long for others while a larger statement is under way', async () => {
    const { statements, clock, save } = paused();
    const saved = save(12);
    await end(statements[0]);
    await end(statements[1]);
    await clock.advance(4);
    expect(statements).toHaveLength(3);
    await clock.advance(1);
    expect(statements.map(({ size }) => size)).toEqual([1, 1, 6, 4]);
    for (const statement of statements) await end(statement);
    await Promise.all(saved);
    expect(clock.pending).toBe(0);
  });
});
