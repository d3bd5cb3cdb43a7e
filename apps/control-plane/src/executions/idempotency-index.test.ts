import type { TenantId } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { IdempotencyIndex, scopedKey } from './idempotency-index.js';

const of = (name: string, generation: number, key: string, tenantId = 'default'): string =>
  scopedKey({ tenantId: tenantId as TenantId, name, generation }, key);

describe('IdempotencyIndex', () => {
  it('binds a key to one execution and then to its end, without a gap', () => {
    const index = new IdempotencyIndex<string>(10);
    const key = of('f', 1, 'k');
    expect(index.find(key, 0)).toBeUndefined();
    expect(index.claim(key, 'run 1', 0)).toBe(true);
    expect(index.find(key, 0)).toEqual({ kind: 'live', live: 'run 1' });
    index.end(key, 'id 1', 100);
    expect(index.find(key, 99)).toEqual({ kind: 'ended', executionId: 'id 1', expiresAt: 100 });
    expect(index.find(key, 100)).toBeUndefined();
  });

  it('keeps tenants, functions and generations of a function apart', () => {
    const index = new IdempotencyIndex<number>(10);
    const keys = [of('f', 1, 'k'), of('f', 2, 'k'), of('g', 1, 'k'), of('f', 1, 'k', 'other')];
    keys.forEach((key, live) => index.claim(key, live, 0));
    expect(keys.map((key) => index.find(key, 0))).toEqual(keys.map((_, live) => ({ kind: 'live', live })));
  });

  it('is a reservation: of sixteen claims for one place one gets it', () => {
    const index = new IdempotencyIndex<number>(1);
    const won = Array.from({ length: 16 }, (_, n) => index.claim(of('f', 1, `k${n}`), n, 0));
    expect(won.filter(Boolean)).toHaveLength(1);
    index.release(of('f', 1, 'k0'));
    expect(index.claim(of('f', 1, 'k9'), 9, 0)).toBe(true);
  });

  it('makes room by removing expired keys, never others', () => {
    const index = new IdempotencyIndex<number>(2);
    index.claim(of('f', 1, 'a'), 1, 0);
    index.end(of('f', 1, 'a'), 'id a', 50);
    index.claim(of('f', 1, 'b'), 2, 0);
    expect(index.claim(of('f', 1, 'c'), 3, 49)).toBe(false);
    expect(index.claim(of('f', 1, 'c'), 3, 50)).toBe(true);
    expect([index.size, index.find(of('f', 1, 'a'), 50)]).toEqual([2, undefined]);
  });

  it('does not remove a key that was claimed again after it expired', () => {
    const index = new IdempotencyIndex<number>(10);
    const key = of('f', 1, 'a');
    index.claim(key, 1, 0);
    index.end(key, 'id', 10);
    index.claim(key, 2, 20);
    index.sweep(30);
    expect(index.find(key, 30)).toEqual({ kind: 'live', live: 2 });
  });

  it('stays small while any number of keys come and go', () => {
    const index = new IdempotencyIndex<number>(1_000);
    let claimed = 0;
    for (let n = 0; n < 50_000; n += 1) {
      if (index.claim(of('f', 1, `k${n}`), n, n)) claimed += 1;
      index.end(of('f', 1, `k${n}`), 'id', n + 500);
    }
    expect(claimed).toBe(50_000);
    expect(index.size).toBeLessThanOrEqual(1_000);
  });
});
