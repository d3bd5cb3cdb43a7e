import type { Queryable, Transaction } from '@drover/database';
import { describe, expect, it } from 'vitest';
import { runStatement } from './run-statement.js';

const failure = (code: string): Error => Object.assign(new Error(code), { code });

/** Records where statements run; those on the pool reject with `failing`. */
function database(failing?: Error) {
  const ran: string[] = [];
  const target = (name: string): Transaction => ({
    query: () => {
      ran.push(name);
      return name === 'pool' && failing ? Promise.reject(failing) : Promise.resolve([]);
    },
    afterCommit: () => undefined,
  });
  const pool = {
    ...target('pool'),
    transaction: <T>(work: (tx: Transaction) => Promise<T>): Promise<T> => work(target('transaction')),
  };
  return { ran, pool, target };
}
const run = (target: Queryable): Promise<object[]> => target.query('select 1');

describe('runStatement', () => {
  it('runs a statement without a transaction, or within the one that it is part of', async () => {
    const { ran, pool, target } = database();
    await runStatement(pool, run);
    await runStatement(pool, run, target('within'));
    expect(ran).toEqual(['pool', 'within']);
  });

  it.each(['40P01', '40001'])('runs it again in a transaction, which is retried, after %s', async (code) => {
    const { ran, pool } = database(failure(code));
    await runStatement(pool, run);
    expect(ran).toEqual(['pool', 'transaction']);
  });

  it('rejects with any other error', async () => {
    const { ran, pool } = database(failure('23505'));
    await expect(runStatement(pool, run)).rejects.toThrow('23505');
    expect(ran).toEqual(['pool']);
  });
});
