import { seededRandomness } from '@drover/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { breakerStates, CircuitBreaker, type BreakerPolicy, type BreakerState } from './circuit-breaker.js';

const policy: BreakerPolicy = { failures: 3, pause: { firstMs: 1_000, maxMs: 8_000, factor: 2 }, probeMs: 500 };
const latest = { fraction: () => 1 };

function opened(now = 0): CircuitBreaker {
  const breaker = new CircuitBreaker(policy, latest);
  for (let failure = 0; failure < policy.failures; failure += 1) breaker.failed(breaker.period, now);
  return breaker;
}

describe('CircuitBreaker', () => {
  it('lets calls through until so many in a row have failed', () => {
    const breaker = new CircuitBreaker(policy, latest);
    for (const outcome of ['failed', 'failed', 'succeeded', 'failed', 'failed'] as const) {
      expect(breaker.admit(0)).toBe(0);
      if (outcome === 'failed') breaker.failed(breaker.period, 0);
      else breaker.succeeded(breaker.period);
    }
    expect(breaker.state).toBe('closed');
    breaker.failed(breaker.period, 0);
    expect(breaker.state).toBe('open');
  });

  it('stays open for the pause, then takes one probe at a time', () => {
    const breaker = opened();
    expect(breaker.admit(1)).toBe(999);
    expect(breaker.admit(999.5)).toBe(1);
    expect(breaker.admit(1_000)).toBe(0);
    expect(breaker.state).toBe('half-open');
    expect(breaker.admit(1_000)).toBe(500);
    breaker.succeeded(breaker.period);
    expect(breaker.state).toBe('closed');
    expect(breaker.admit(1_001)).toBe(0);
    expect(breaker.admit(1_001)).toBe(0);
  });

  it('closes when the endpoint takes a connection, and forgets the failures before it', () => {
    const breaker = opened();
    expect(breaker.admit(1_000)).toBe(0);
    breaker.connected(breaker.period);
    expect([breaker.state, breaker.admit(1_000)]).toEqual(['closed', 0]);
    for (let failure = 1; failure < policy.failures; failure += 1) breaker.failed(breaker.period, 1_000);
    breaker.connected(breaker.period);
    breaker.failed(breaker.period, 1_000);
    expect(breaker.state).toBe('closed');
  });

  it('pauses twice as long after each probe that failed, up to the longest, and starts over once closed', () => {
    const breaker = opened();
    let now = 0;
    for (const pause of [1_000, 2_000, 4_000, 8_000, 8_000]) {
      expect(breaker.admit(now)).toBe(pause);
      now += pause;
      expect(breaker.admit(now)).toBe(0);
      breaker.failed(breaker.period, now);
    }
    now += 8_000;
    expect(breaker.admit(now)).toBe(0);
    breaker.succeeded(breaker.period);
    for (let failure = 0; failure < policy.failures; failure += 1) breaker.failed(breaker.period, now);
    expect(breaker.admit(now)).toBe(1_000);
  });

  it('takes another probe when the first was given up, or has no answer for long', () => {
    const breaker = opened();
    expect(breaker.admit(1_000)).toBe(0);
    breaker.released(breaker.period);
    expect(breaker.admit(1_000)).toBe(0);
    expect(breaker.admit(1_499)).toBe(1);
    expect(breaker.admit(1_500)).toBe(0);
  });

  it('ignores what calls of an earlier period say', () => {
    const breaker = new CircuitBreaker(policy, latest);
    const early = breaker.period;
    for (let failure = 0; failure < policy.failures; failure += 1) breaker.failed(early, 0);
    breaker.succeeded(early);
    expect(breaker.state).toBe('open');
    expect(breaker.admit(1_000)).toBe(0);
    breaker.failed(early, 1_000);
    breaker.succeeded(early);
    expect(breaker.state).toBe('half-open');
    breaker.released(early);
    expect(breaker.admit(1_000)).toBe(500);
  });

  const shared: BreakerPolicy = { ...policy, failures: 5, share: { atLeast: 0.5, minCalls: 20, windowMs: 10_000 } };

  it.each<[string, BreakerPolicy, string, number, number | undefined]>([
    ['four of five fail', shared, 'FFFF.', 10, 21],
    ['four of five fail, and only those in a row count', { ...policy, failures: 5 }, 'FFFF.', 10, undefined],
    ['every other one fails', shared, '.F', 10, 20],
    ['every other one fails, a failure first', shared, 'F.', 10, 21],
    ['one of three fails', shared, '..F', 10, undefined],
    ['two of three fail', shared, '.FF', 10, 20],
    ['nearly all fail, but seldom one is made', shared, 'FFFF.', 1_000, undefined],
    ['nearly all fail, twenty in the window', shared, 'FFFF.', 500, 21],
    ['all fail', shared, 'F', 10, 5],
    ['all fail, and seldom one is made', shared, 'F', 60_000, 5],
    ['none fails', shared, '.', 1, undefined],
    ['it turned bad after a good time', shared, `${'.'.repeat(900)}${'FFFF.'.repeat(80)}`, 20, 1_201],
  ])('when %s', (_, own, pattern, everyMs, opensAt) => {
    const breaker = new CircuitBreaker(own, latest);
    let now = 0;
    let calls = 0;
    while (breaker.state === 'closed' && calls < 5_000) {
      now += everyMs;
      expect(breaker.admit(now)).toBe(0);
      if (pattern[calls % pattern.length] === 'F') breaker.failed(breaker.period, now);
      else breaker.succeeded(breaker.period);
      calls += 1;
    }
    expect(breaker.state === 'open' ? calls : undefined).toBe(opensAt);
  });

  it('that was opened by a share closes by one probe, and has forgotten what was before', () => {
    const breaker = new CircuitBreaker(shared, latest);
    const callTimes = (pattern: string, now: number): void => {
      for (const outcome of pattern) {
        expect(breaker.admit(now)).toBe(0);
        if (outcome === 'F') breaker.failed(breaker.period, now);
        else breaker.succeeded(breaker.period);
      }
    };
    callTimes('.F'.repeat(10), 0);
    expect(breaker.state).toBe('open');
    expect(breaker.admit(999)).toBe(1);
    callTimes('F', 1_000);
    expect(breaker.state).toBe('open');
    expect(breaker.admit(1_000)).toBe(2_000);
    callTimes('.', 3_000);
    expect(breaker.state).toBe('closed');
    callTimes('.F'.repeat(9), 3_000);
    expect(breaker.state).toBe('closed');
    callTimes('.F', 3_000);
    expect(breaker.state).toBe('open');
    expect(breaker.admit(3_000)).toBe(1_000);
  });

  it('does not count calls of an earlier period, nor those that were given up', () => {
    const breaker = new CircuitBreaker(shared, latest);
    const early = breaker.period;
    for (let call = 0; call < 100; call += 1) {
      expect(breaker.admit(0)).toBe(0);
      breaker.released(early);
    }
    for (let failure = 0; failure < shared.failures; failure += 1) breaker.failed(early, 0);
    expect(breaker.admit(1_000)).toBe(0);
    breaker.succeeded(breaker.period);
    for (let call = 0; call < 100; call += 1) breaker.failed(early, 1_000);
    expect(breaker.state).toBe('closed');
    breaker.failed(breaker.period, 1_000);
    expect(breaker.state).toBe('closed');
  });

  it('makes only moves of its table, whatever happens in whatever order', () => {
    const event = fc.record({
      what: fc.constantFrom('admit', 'succeeded', 'failed', 'released'),
      waitMs: fc.integer({ min: 0, max: 3_000 }),
      call: fc.nat(),
    });
    fc.assert(
      fc.property(fc.integer(), fc.array(event, { maxLength: 200 }), (seed, events) => {
        const moves: { from: BreakerState; to: BreakerState }[] = [];
        const breaker = new CircuitBreaker(policy, seededRandomness(seed), (move) => moves.push(move));
        const admitted: number[] = [];
        let now = 0;
        let inARow = 0;
        let lastProbeMs = Number.NEGATIVE_INFINITY;
        for (const { what, waitMs, call } of events) {
          now += waitMs;
          const before = breaker.state;
          if (what === 'admit') {
            const pause = breaker.admit(now);
            if (before === 'closed') expect(pause).toBe(0);
            if (pause === 0) admitted.push(breaker.period);
            else expect(pause).toBeLessThanOrEqual(Math.max(policy.pause.maxMs, policy.probeMs));
            if (pause === 0 && breaker.state === 'half-open') {
              expect(now - lastProbeMs).toBeGreaterThanOrEqual(policy.probeMs);
              lastProbeMs = now;
            }
            continue;
          }
          if (admitted.length === 0) continue;
          const [period = 0] = admitted.splice(call % admitted.length, 1);
          const isOfNow = period === breaker.period;
          if (what === 'released') {
            breaker.released(period);
            if (isOfNow) lastProbeMs = Number.NEGATIVE_INFINITY;
          } else if (what === 'succeeded') {
            breaker.succeeded(period);
            if (isOfNow) inARow = 0;
            if (isOfNow) expect(breaker.state).toBe('closed');
          } else {
            breaker.failed(period, now);
            if (isOfNow) inARow += 1;
            if (isOfNow && before === 'half-open') expect(breaker.state).toBe('open');
            if (isOfNow && before === 'closed')
              expect(breaker.state).toBe(inARow >= policy.failures ? 'open' : 'closed');
          }
          if (breaker.state !== before) {
            inARow = 0;
            lastProbeMs = Number.NEGATIVE_INFINITY;
          }
        }
        for (const { from, to } of moves) expect(breakerStates.canMove(from, to)).toBe(true);
      }),
    );
  });

  it('is back within the longest pause and one call after the other side is', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 0, max: 20 }), (seed, failedProbes) => {
        const breaker = new CircuitBreaker(policy, seededRandomness(seed));
        let now = 0;
        for (let failure = 0; failure < policy.failures; failure += 1) breaker.failed(breaker.period, now);
        for (let probe = 0; probe < failedProbes; probe += 1) {
          now += breaker.admit(now);
          expect(breaker.admit(now)).toBe(0);
          breaker.failed(breaker.period, now);
        }
        expect(breaker.admit(now + policy.pause.maxMs)).toBe(0);
        breaker.succeeded(breaker.period);
        expect(breaker.state).toBe('closed');
      }),
    );
  });
});
