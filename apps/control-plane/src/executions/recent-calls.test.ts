import { defaultTenantId } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { RecentCalls, type RecentCall } from './recent-calls.js';

const call = (n: number, status: RecentCall['status'] = 'success'): RecentCall => ({
  executionId: `id ${n}`,
  tenantId: defaultTenantId,
  functionName: 'f',
  status,
  acceptedAt: n,
  finishedAt: n,
  attempts: 1,
  error: undefined,
  traceId: undefined,
  coldStartMs: undefined,
});

const idsOf = (recent: RecentCalls): string[] => [...recent.all()].map(({ executionId }) => executionId);

describe('RecentCalls', () => {
  it('keeps few answered successes, and more of all others', () => {
    const recent = new RecentCalls({ answered: 2, others: 3, ttlMs: 1_000 });
    for (let n = 0; n < 5; n += 1) recent.add(call(n), true);
    for (let n = 10; n < 15; n += 1) recent.add(call(n, n % 2 === 0 ? 'timeout' : 'success'), n % 2 === 0);
    expect(idsOf(recent).toSorted()).toEqual(['id 12', 'id 13', 'id 14', 'id 3', 'id 4']);
  });

  it('does not return expired calls, with or without a sweep', () => {
    const recent = new RecentCalls({ answered: 10, others: 10, ttlMs: 100 });
    recent.add(call(1), true);
    recent.add(call(50, 'error'), true);
    expect([recent.find('id 1', 100)?.status, recent.find('id 1', 101)]).toEqual(['success', undefined]);
    recent.sweep(120);
    expect(idsOf(recent)).toEqual(['id 50']);
  });
});
