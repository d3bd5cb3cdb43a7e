import type { TenantId } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { IdempotencyIndex, scopedKey } from './idempotency-index.js';

const of = (name: string, generation: number, key: string, tenantId = 'default'): string =>
  scopedKey({ tenantId: tenantId as TenantId, name, generation }, key);

describe('IdempotencyIndex', () => {
  it('binds a key to one execution and then to its end, without a gap', () => {
    const ledger = new IdempotencyIndex<string>(10);
    const key = of('f', 1, 'k');
    expect(ledger.find(key, 0)).toBeUndefined();
    expect(ledger.claim(key, 'run 1', 0)).toBe(true);
    expect(ledger.find(key, 0)).toEqual({ kind: 'live', live: 'run 1' });
    ledger.end(key, 'id 1', 100);
    expect(ledger.find(key, 99)).toEqual({ kind: 'ended', executionId: 'id 1', expiresAt: 100 });
    expect(ledger.find(key, 100)).toBeUndefined();
  });

  it('keeps tenants, functions and generations of a function apart', () => {
    const ledger = new IdempotencyIndex<number>(10);
    const keys = [of('f', 1, 'k'), of('f', 2, 'k'), of('g', 1, 'k'), of('f', 1, 'k', 'other')];
    keys.forEach((key, index) => ledger.claim(key, index, 0));
    expect(keys.map((key) => ledger.find(key, 0))).toEqual(keys.map((_, live) => ({ kind: 'live', live })));
  });

  it('is a reservation: of sixteen claims for one place one gets it', () => {
    const ledger = new IdempotencyIndex<number>(1);
    const won = Array.from({ length: 16 }, (_, n) => ledger.claim(of('f', 1, `k${n}`), n, 0));
    expect(won.filter(Boolean)).toHaveLength(1);
    ledger.release(of('f', 1, 'k0'));
    expect(ledger.claim(of('f', 1, 'k9'), 9, 0)).toBe(true);
  });

  it('makes room by removing expired keys, never others', () => {
    const ledger = new IdempotencyIndex<number>(2);
    ledger.claim(of('f', 1, 'a'), 1, 0);
    ledger.end(of('f', 1, 'a'), 'id a', 50);
    ledger.claim(of('f', 1, 'b'), 2, 0);
    expect(ledger.claim(of('f', 1, 'c'), 3, 49)).toBe(false);
    expect(ledger.claim(of('f', 1, 'c'), 3, 50)).toBe(true);
    expect([ledger.size, ledger.find(of('f', 1, 'a'), 50)]).toEqual([2, undefined]);
  });

  it('does not remove a key that was claimed again after it expired', () => {
    const ledger = new IdempotencyIndex<number>(10);
    const key = of('f', 1, 'a');
    ledger.claim(key, 1, 0);
    ledger.end(key, 'id', 10);
    ledger.claim(key, 2, 20);
    ledger.sweep(30);
    expect(ledger.find(key, 30)).toEqual({ kind: 'live', live: 2 });
  });

  it('stays small while any number of keys come and go', () => {
    const ledger = new IdempotencyIndex<number>(1_000);
    let claimed = 0;
    for (let n = 0; n < 50_000; n += 1) {
      if (ledger.claim(of('f', 1, `k${n}`), n, n)) claimed += 1;
      ledger.end(of('f', 1, `k${n}`), 'id', n + 500);
    }
    expect(claimed).toBe(50_000);
    expect(ledger.size).toBeLessThanOrEqual(1_000);
  });
});
