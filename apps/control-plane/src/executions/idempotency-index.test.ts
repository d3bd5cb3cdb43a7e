import type { TenantId } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { IdempotencyIndex, type KeyScope } from './idempotency-index.js';

const of = (name: string, generation = 1, tenantId = 'default'): KeyScope => ({
  tenantId: tenantId as TenantId,
  name,
  generation,
});
const f = of('f');

describe('IdempotencyIndex', () => {
  it('binds a key to one execution and then to its end, without a gap', () => {
    const index = new IdempotencyIndex<string>(10);
    expect(index.find(f, 'k', 0)).toBeUndefined();
    index.claim(f, 'k', 'run 1');
    expect(index.find(f, 'k', 0)).toEqual({ kind: 'live', live: 'run 1' });
    index.end(f, 'k', 'id 1', 100);
    expect(index.find(f, 'k', 99)).toEqual({ kind: 'ended', executionId: 'id 1', expiresAt: 100 });
    expect(index.find(f, 'k', 100)).toBeUndefined();
  });

  it('keeps tenants, functions and generations of a function apart', () => {
    const index = new IdempotencyIndex<number>(10);
    const scopes = [f, of('f', 2), of('g'), of('f', 1, 'other')];
    scopes.forEach((scope, live) => index.claim(scope, 'k', live));
    expect(scopes.map((scope) => index.find(scope, 'k', 0))).toEqual(scopes.map((_, live) => ({ kind: 'live', live })));
  });

  it('has room for each tenant, whatever the others use', () => {
    const index = new IdempotencyIndex<number>(1);
    index.claim(f, 'k', 1);
    index.claim(f, 'k', 2);
    expect([index.hasRoom(f.tenantId, 0), index.hasRoom('other' as TenantId, 0), index.size]).toEqual([false, true, 1]);
    index.release(f, 'k', 2);
    expect(index.hasRoom(f.tenantId, 0)).toBe(true);
  });

  it('makes room by removing expired keys, never others, and knows when the next one expires', () => {
    const index = new IdempotencyIndex<number>(2);
    index.end(f, 'a', 'id a', 50);
    index.claim(f, 'b', 2);
    expect([index.nextExpiry(f.tenantId), index.hasRoom(f.tenantId, 49)]).toEqual([50, false]);
    expect([index.hasRoom(f.tenantId, 50), index.find(f, 'a', 50), index.size]).toEqual([true, undefined, 1]);
    expect(index.nextExpiry(f.tenantId)).toBeUndefined();
  });

  it('does not remove a key that was claimed again, before or after it expired', () => {
    const index = new IdempotencyIndex<number>(10);
    index.end(f, 'a', 'id', 10);
    index.claim(f, 'a', 2);
    index.sweep(30);
    expect(index.find(f, 'a', 30)).toEqual({ kind: 'live', live: 2 });
    index.end(f, 'a', 'id 2', 50);
    expect([index.size, index.nextExpiry(f.tenantId)]).toEqual([1, 50]);
  });

  it('frees a key only for the execution that it stands for', () => {
    const index = new IdempotencyIndex<number>(10);
    index.claim(f, 'a', 1);
    index.claim(f, 'a', 2);
    index.release(f, 'a', 1);
    expect(index.find(f, 'a', 0)).toEqual({ kind: 'live', live: 2 });
    index.end(f, 'a', 'id', 50);
    index.release(f, 'a', 2);
    expect(index.find(f, 'a', 0)).toMatchObject({ kind: 'ended' });
  });

  it('drops the keys of functions that moved, and counts the others', () => {
    const index = new IdempotencyIndex<number>(2);
    index.end(f, 'a', 'id', 50);
    index.claim(of('g'), 'a', 1);
    index.drop((_, name) => name === 'f');
    expect([index.size, index.find(f, 'a', 0), index.hasRoom(f.tenantId, 0)]).toEqual([1, undefined, true]);
    index.sweep(60);
    expect(index.size).toBe(1);
  });

  it('stays small while any number of keys come and go', () => {
    const index = new IdempotencyIndex<number>(1_000);
    let claimed = 0;
    for (let n = 0; n < 50_000; n += 1) {
      if (!index.hasRoom(f.tenantId, n)) continue;
      claimed += 1;
      index.claim(f, `k${n}`, n);
      index.end(f, `k${n}`, 'id', n + 500);
    }
    expect(claimed).toBe(50_000);
    expect(index.size).toBeLessThanOrEqual(1_000);
  });
});
