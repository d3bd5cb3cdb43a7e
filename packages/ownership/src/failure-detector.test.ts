import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FailureDetector, type ReplicaStatus } from './failure-detector.js';

const ownUrl = 'http://me';
const other = (change: Partial<ReplicaStatus> = {}): ReplicaStatus => ({
  id: 'other',
  url: 'http://other',
  draining: false,
  expired: false,
  present: true,
  ...change,
});
const away = other({ present: false });

describe('FailureDetector', () => {
  it('counts a lock only after it was free at two looks that are the grace apart', () => {
    const failures = new FailureDetector(1_000);
    expect(failures.judge([away], 0, ownUrl)).toEqual([]);
    expect(failures.ripeAtMs).toBe(1_000);
    expect(failures.judge([away], 999, ownUrl)).toEqual([]);
    expect(failures.judge([away], 1_000, ownUrl)).toEqual(['other']);
  });

  it('does not count what lies before one look long after the last', () => {
    const failures = new FailureDetector(1_000);
    expect(failures.judge([other()], 0, ownUrl)).toEqual([]);
    expect(failures.judge([away], 60_000, ownUrl)).toEqual([]);
  });

  it('begins anew for one that was back, or was not listed any more', () => {
    for (const between of [[other()], []]) {
      const failures = new FailureDetector(1_000);
      failures.judge([away], 0, ownUrl);
      failures.judge(between, 900, ownUrl);
      expect(failures.ripeAtMs).toBe(Infinity);
      expect(failures.judge([away], 1_500, ownUrl)).toEqual([]);
      expect(failures.judge([away], 2_500, ownUrl)).toEqual(['other']);
    }
  });

  it('needs no grace for one that has expired, nor for one that was at our own address', () => {
    const failures = new FailureDetector(1_000);
    expect(failures.judge([other({ expired: true })], 0, ownUrl)).toEqual(['other']);
    expect(failures.judge([other({ present: false, url: ownUrl })], 0, ownUrl)).toEqual(['other']);
    expect(failures.judge([other({ url: ownUrl })], 0, ownUrl)).toEqual([]);
  });

  it('leaves time to come back after the server was away', () => {
    const failures = new FailureDetector(1_000);
    failures.judge([away], 0, ownUrl);
    failures.forgiveUntil(5_000);
    expect(failures.judge([away], 2_000, ownUrl)).toEqual([]);
    expect(failures.judge([away], 5_999, ownUrl)).toEqual([]);
    expect(failures.judge([away], 6_000, ownUrl)).toEqual(['other']);
  });

  it('never names one that was present less than the grace ago and is in time', () => {
    const look = fc.record({ afterMs: fc.integer({ min: 0, max: 700 }), present: fc.boolean() });
    const tooEarly = fc.property(fc.array(look, { maxLength: 30 }), (looks) => {
      const failures = new FailureDetector(1_000);
      let nowMs = 0;
      let presentMs = 0;
      return looks.every(({ afterMs, present }) => {
        nowMs += afterMs;
        if (present) presentMs = nowMs;
        const gone = failures.judge([other({ present })], nowMs, ownUrl);
        return gone.length === 0 || nowMs - presentMs >= 1_000;
      });
    });
    expect(fc.check(tooEarly)).toMatchObject({ failed: false });
  });
});
