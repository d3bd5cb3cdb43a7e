import type { Queryable, Statement } from '@drover/database';
import { describe, expect, it } from 'vitest';
import { PreparedStatements } from './prepared-statements.js';
import { identifier, parameter, sql, type Sql } from './sql.js';

function recording(): Queryable & { readonly names: (string | undefined)[] } {
  const names: (string | undefined)[] = [];
  return {
    names,
    query: (statement: Statement | string) => {
      names.push(typeof statement === 'string' ? undefined : statement.name);
      return Promise.resolve([]);
    },
  };
}

const select = (column: string, value: unknown = 1): Sql => sql`select ${identifier(column)} = ${parameter(value)}`;

describe('prepared statements', () => {
  it('give a text its name with its second run, the same for all values', async () => {
    const statements = new PreparedStatements();
    const target = recording();
    for (const value of [1, 2, 3]) await statements.run(target, select('a', value));
    await statements.run(target, select('b'));
    expect(target.names[0]).toBeUndefined();
    expect(target.names[1]).toMatch(/^records_[0-9a-f]{24}$/);
    expect(target.names[2]).toBe(target.names[1]);
    expect(target.names[3]).toBeUndefined();
  });

  it('give out no more names than their capacity while those are in use', async () => {
    const statements = new PreparedStatements({ capacity: 2, idleRuns: 1_000 });
    const target = recording();
    for (let shape = 0; shape < 50; shape += 1) {
      await statements.run(target, select(`c${shape}`));
      await statements.run(target, select(`c${shape}`));
    }
    expect(new Set(target.names.filter((name) => name !== undefined)).size).toBe(2);
  });

  it('replace a name that has been idle, and tell it', async () => {
    const replaced: string[] = [];
    const statements = new PreparedStatements({ capacity: 1, idleRuns: 3, onReplaced: (name) => replaced.push(name) });
    const target = recording();
    for (const column of ['old', 'old', 'new', 'new', 'new', 'new']) await statements.run(target, select(column));
    expect(target.names[1]).toBeDefined();
    const name = target.names.at(-1);
    expect(name).toBeDefined();
    expect(name).not.toBe(target.names[1]);
    expect(replaced).toEqual([target.names[1]]);
  });
});
