import { seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { defaultEndpointPolicy, Endpoint, stickyRequestsFor } from './endpoint.js';
import { pickEndpoint } from './pick-endpoint.js';
import { byPreference } from './preference.js';
import { RetryBudget } from './retry-budget.js';

const randomness = seededRandomness(7);
const old = -defaultEndpointPolicy.slowStartMs;
const endpoint = (id: string, maxInFlight = 100) => new Endpoint(id, { ...defaultEndpointPolicy, maxInFlight }, old);
const finish = (one: Endpoint, outcome: 'answered' | 'gateway-error', times = 1, nowMs = 0) => {
  for (let index = 0; index < times; index += 1) {
    one.begin(nowMs);
    one.end(outcome, 1, nowMs);
  }
};
const picks = (endpoints: readonly Endpoint[], nowMs = 0, tried?: Endpoint) =>
  Array.from({ length: 200 }, () => {
    const picked = pickEndpoint(endpoints, { nowMs, randomness, tried: tried && [tried] });
    return 'endpoint' in picked ? picked.endpoint.id : picked.refused;
  });
const share = (ids: readonly string[], id: string) => ids.filter((one) => one === id).length / ids.length;

describe('stickyRequestsFor', () => {
  it('keeps fewer requests together where another worker has a core of its own', () => {
    expect([1, 2, 4, 64].map(stickyRequestsFor)).toEqual([32, 32, 8, 8]);
  });
});

describe('pickEndpoint', () => {
  it('stays with the first endpoint until that has clearly more in flight than another one', () => {
    const [a, b, c] = [endpoint('a'), endpoint('b'), endpoint('c')];
    for (const one of [a, b, c]) finish(one, 'answered');
    for (let index = 0; index < defaultEndpointPolicy.stickyRequests - 1; index += 1) a.begin(0);
    expect(share(picks([a, b, c]), 'a')).toBe(1);
    a.begin(0);
    expect(share(picks([a, b, c]), 'a')).toBe(0);
    b.begin(0);
    expect(share(picks([a, b, c]), 'c')).toBe(1); // the better of the two others
  });

  it('spreads a crowd over all endpoints, the first one ahead by no more than it may be', () => {
    const all = ['a', 'b', 'c', 'd'].map((id) => endpoint(id, 1_000));
    for (const one of all) finish(one, 'answered');
    for (let index = 0; index < 1_000; index += 1) {
      const picked = pickEndpoint(all, { nowMs: 0, randomness });
      if ('endpoint' in picked) picked.endpoint.begin(0);
    }
    const [first = 0, ...others] = all.map(({ inFlight }) => inFlight);
    expect(first - Math.min(...others)).toBeLessThanOrEqual(defaultEndpointPolicy.stickyRequests + 5);
    expect(Math.max(...others) / Math.min(...others)).toBeLessThan(1.35);
  });

  it('leaves the first endpoint for one that is clearly faster, whatever their load is', () => {
    const [a, b] = [endpoint('a'), endpoint('b')];
    const answer = (one: Endpoint, latencyMs: number) => {
      one.begin(0);
      one.end('answered', latencyMs, 0);
    };
    for (let index = 0; index < 50; index += 1) {
      answer(a, 3);
      answer(b, 1);
    }
    expect(share(picks([a, b]), 'b')).toBe(1);
    expect(share(picks([b, a]), 'b')).toBe(1);
  });

  it('does not take the wait for other requests for slowness', () => {
    const [a, b] = [endpoint('a'), endpoint('b')];
    finish(b, 'answered', 10);
    for (let index = 0; index < 24; index += 1) a.begin(0);
    for (let index = 0; index < 50; index += 1) {
      a.begin(0);
      a.end('answered', 7, 0);
    }
    expect(share(picks([a, b]), 'a')).toBe(1);
  });

  it('gives a new endpoint less than its share', () => {
    const young = new Endpoint('young', defaultEndpointPolicy, 0);
    expect(share(picks([endpoint('a'), young], 100), 'young')).toBe(0);
    expect(share(picks([young, endpoint('a')], 100), 'young')).toBe(0);
  });

  it('leaves out an endpoint after five gateway errors in a row, and lets one request probe it later', () => {
    const [a, b] = [endpoint('a'), endpoint('b')];
    finish(a, 'gateway-error', 4);
    finish(a, 'answered');
    finish(a, 'gateway-error', 4);
    expect(a.isOpen(0)).toBe(true);
    finish(a, 'gateway-error');
    expect(share(picks([a, b]), 'a')).toBe(0);
    expect(a.isOpen(4_999)).toBe(false);
    expect(a.isOpen(5_000)).toBe(true);
    a.begin(5_000);
    expect(a.isOpen(5_000)).toBe(false);
    a.end('gateway-error', 1, 5_001);
    expect([a.isOpen(15_000), a.isOpen(15_001)]).toEqual([false, true]); // twice as long
    finish(a, 'answered', 1, 15_001);
    expect(a.isOpen(15_001)).toBe(true);
  });

  it('keeps requests together while latencies differ by chance', () => {
    const [a, b] = [endpoint('a'), endpoint('b')];
    for (let index = 0; index < 50; index += 1) {
      a.begin(0);
      a.end('answered', 1.5, 0);
      b.begin(0);
      b.end('answered', 1, 0);
    }
    expect(share(picks([a, b]), 'a')).toBe(1);
  });

  it('tries an endpoint again after a while, with one request at a time', () => {
    const [a, b] = [endpoint('a'), endpoint('b')];
    finish(a, 'answered', 50);
    b.begin(0);
    b.end('answered', 10, 0);
    expect(share(picks([a, b], 1_000), 'b')).toBe(0);
    finish(a, 'answered', 1, 60_000);
    expect(share(picks([a, b], 60_000), 'b')).toBe(1);
    b.begin(60_000);
    expect(share(picks([a, b], 60_000), 'b')).toBe(0);
    b.end('answered', 10, 60_000);
    expect(share(picks([a, b], 60_000), 'b')).toBe(0);
  });

  it('avoids an endpoint that fails fast with status 500, and leaves it out by the share of errors', () => {
    const [a, b] = [endpoint('a'), endpoint('b')];
    finish(b, 'answered', 30);
    a.begin(0);
    a.end('server-error', 0.1, 0);
    expect(share(picks([a, b]), 'a')).toBe(0);
    for (let index = 0; index < 18; index += 1) {
      a.begin(0);
      a.end('server-error', 0.1, 0);
    }
    expect(a.isOpen(0)).toBe(true); // fewer than 20 requests
    a.begin(0);
    a.end('server-error', 0.1, 0);
    expect(a.isOpen(0)).toBe(false);
    expect(share(picks([a, b]), 'a')).toBe(0);
  });

  it('lets the next request probe an endpoint if the client of the first one left', () => {
    const a = endpoint('a');
    finish(a, 'gateway-error', 5);
    a.begin(5_000);
    expect(a.isOpen(5_000)).toBe(false);
    a.end('abandoned', 1, 5_001);
    expect(a.isOpen(5_001)).toBe(true);
    finish(a, 'answered', 1, 5_001);
    expect(a.isOpen(5_001)).toBe(true);
  });

  it('leaves out an endpoint of which half of the requests fail', () => {
    const a = endpoint('a');
    for (let index = 0; index < 12; index += 1) {
      finish(a, 'gateway-error', 2);
      if (a.isOpen(0)) finish(a, 'answered');
    }
    expect(a.isOpen(0)).toBe(false);
  });

  it('uses ejected endpoints when most of a route are ejected, and the only one always', () => {
    const [a, b] = [endpoint('a'), endpoint('b')];
    finish(a, 'gateway-error', 5);
    finish(b, 'gateway-error', 5);
    expect(new Set([...picks([a, b]), ...picks([b, a])])).toEqual(new Set(['a', 'b']));
    expect(new Set(picks([a]))).toEqual(new Set(['a']));
  });

  it('refuses when all are full, and never returns the endpoint that was tried', () => {
    const [a, b] = [endpoint('a', 1), endpoint('b', 1)];
    a.begin(0);
    expect(new Set(picks([a, b]))).toEqual(new Set(['b']));
    b.begin(0);
    expect(new Set(picks([a, b]))).toEqual(new Set(['full']));
    b.end('abandoned', 1, 0);
    expect(new Set(picks([a, b], 0, b))).toEqual(new Set(['full']));
    expect(new Set(picks([b], 0, b))).toEqual(new Set(['none']));
  });
});

describe('RetryBudget', () => {
  it('lets a part of the requests be sent again', () => {
    const budget = new RetryBudget({ share: 0.2, most: 10 });
    let retries = 0;
    for (let index = 0; index < 1_000; index += 1) {
      budget.earn();
      if (budget.spend()) retries += 1;
    }
    expect(retries).toBeGreaterThanOrEqual(200);
    expect(retries).toBeLessThanOrEqual(212);
  });
});

describe('byPreference', () => {
  it('prefers each worker for about the same number of collections, in any order of the workers', () => {
    const workers = ['worker-1', 'worker-2', 'worker-3'].map((id) => endpoint(id));
    const ids = Array.from({ length: 3_000 }, (_, index) => `collection-${index}`);
    const first = (endpoints: readonly Endpoint[]) => ids.map((id) => byPreference(id, endpoints)[0]?.id);
    const preferred = first(workers);
    for (const { id } of workers) expect(preferred.filter((one) => one === id).length).toBeGreaterThan(850);
    expect(first(workers.toReversed())).toEqual(preferred);
    const without = first(workers.slice(1));
    expect(ids.filter((_, index) => preferred[index] !== 'worker-1' && preferred[index] !== without[index])).toEqual(
      [],
    );
  });

  it('prefers the workers of a zone, and one of the others only if the zone has none', () => {
    const near = ['worker-1', 'worker-2'].map((id) => ({ id, zone: 'a' }));
    const far = [{ id: 'worker-3', zone: 'b' }, { id: 'worker-4' }];
    for (const key of ['orders', 'items', 'notes']) {
      expect(byPreference(key, [...far, ...near], 'a').slice(0, 2)).toEqual(byPreference(key, near));
      expect(byPreference(key, [...far, ...near], 'c')).toEqual(byPreference(key, [...near, ...far]));
    }
  });
});
