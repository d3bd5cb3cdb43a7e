import { describe, expect, it } from 'vitest';
import { batchSize, type SharedLoad } from './batch-size.js';

const load = (about: Partial<SharedLoad>): SharedLoad => ({
  waiting: 1,
  running: 0,
  records: 0,
  isOverdue: false,
  ...about,
});

describe('the size of a shared statement', () => {
  it('is that of a request alone, and of the second of two', () => {
    expect(batchSize(load({}))).toBe(1);
    expect(batchSize(load({ running: 1, records: 1 }))).toBe(1);
  });

  it('is none while two statements are under way, or without a request', () => {
    expect(batchSize(load({ waiting: 50, running: 2, records: 2, isOverdue: true }))).toBe(0);
    expect(batchSize(load({ waiting: 0 }))).toBe(0);
  });

  it('is none until nearly as many requests wait as the other statement has, or they have waited for long enough', () => {
    expect(batchSize(load({ waiting: 11, running: 1, records: 16 }))).toBe(0);
    expect(batchSize(load({ waiting: 12, running: 1, records: 16 }))).toBeGreaterThanOrEqual(12);
    expect(batchSize(load({ waiting: 11, running: 1, records: 16, isOverdue: true }))).toBeGreaterThanOrEqual(11);
  });

  it('is at most an even share, and never more than the limit', () => {
    expect(batchSize(load({ waiting: 30, running: 1, records: 2 }))).toBe(16);
    expect(batchSize(load({ waiting: 5_000 }))).toBe(100);
  });

  it('stays even while clients come back one after the other', () => {
    const sizes = simulate({ clients: 32, statementMs: 5, returnMs: 0.2, statements: 100 }).slice(20);
    expect(sizes.reduce((sum, size) => sum + size, 0) / sizes.length).toBeGreaterThan(8);
    expect(sizes.filter((size) => size < 4)).toEqual([]);
  });
});

/**
 * Returns the sizes of the statements of clients that send their next request after each answer. The process answers and reads one
 * after the other, so each request comes `returnMs` after that before.
 */
function simulate(about: { clients: number; statementMs: number; returnMs: number; statements: number }): number[] {
  const sizes: number[] = [];
  const running: { readonly endsMs: number; readonly size: number }[] = [];
  const returns: number[] = [];
  const comeBack = (count: number, nowMs: number): void => {
    for (let n = 0; n < count; n += 1) returns.push(Math.max(nowMs, returns.at(-1) ?? 0) + about.returnMs);
  };
  comeBack(about.clients, 0);
  for (let waiting = 0; sizes.length < about.statements; ) {
    const [ends = Infinity] = running.map(({ endsMs }) => endsMs);
    const [returnsMs = Infinity] = returns;
    const nowMs = Math.min(ends, returnsMs);
    if (returnsMs < ends) {
      returns.shift();
      waiting += 1;
    } else comeBack(running.shift()?.size ?? 0, nowMs);
    for (;;) {
      const records = running.reduce((sum, { size }) => sum + size, 0);
      const size = Math.min(waiting, batchSize({ waiting, running: running.length, records, isOverdue: false }));
      if (size === 0) break;
      waiting -= size;
      running.push({ endsMs: nowMs + about.statementMs, size });
      sizes.push(size);
    }
  }
  return sizes;
}
