import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FairRing, type RingMember } from './fair-ring.js';

const member = (tenantId: string, name: string): RingMember & { name: string } => ({ tenantId, name, isInRing: false });

describe('FairRing', () => {
  it('takes turns over tenants, and over the members of each', () => {
    const ring = new FairRing<ReturnType<typeof member>>();
    for (const one of [member('a', 'a1'), member('a', 'a2'), member('a', 'a3'), member('b', 'b1')]) ring.add(one);
    const turns: string[] = [];
    for (let turn = 0; turn < 8; turn += 1) {
      const next = ring.next();
      if (!next) return expect.unreachable();
      turns.push(next.name);
      ring.add(next);
    }
    expect(turns).toEqual(['a1', 'b1', 'a2', 'b1', 'a3', 'b1', 'a1', 'b1']);
  });

  it('holds each member once, and is empty when all are taken', () => {
    const ring = new FairRing<ReturnType<typeof member>>();
    const one = member('a', 'a1');
    ring.add(one);
    ring.add(one);
    expect(ring.next()).toBe(one);
    expect(ring.next()).toBeUndefined();
  });

  it('lets no tenant wait longer than one turn of each other tenant', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 2, maxLength: 8 }), (sizes) => {
        const ring = new FairRing<ReturnType<typeof member>>();
        sizes.forEach((size, tenant) => {
          for (let n = 0; n < size; n += 1) ring.add(member(`t${tenant}`, `${n}`));
        });
        const turns = Array.from({ length: sizes.length * 10 }, () => {
          const next = ring.next();
          if (next) ring.add(next);
          return next?.tenantId;
        });
        for (let at = 0; at + sizes.length <= turns.length; at += sizes.length)
          expect(new Set(turns.slice(at, at + sizes.length)).size).toBe(sizes.length);
      }),
    );
  });
});
