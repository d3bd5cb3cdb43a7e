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
  it('reports an absent replica after two polls that are the grace apart', () => {
    const detector = new FailureDetector(1_000);
    expect(detector.failedIn([away], 0, ownUrl)).toEqual([]);
    expect(detector.nextCheckAtMs).toBe(1_000);
    expect(detector.failedIn([away], 999, ownUrl)).toEqual([]);
    expect(detector.failedIn([away], 1_000, ownUrl)).toEqual(['other']);
  });

  it('does not count the time before a single poll long after the last', () => {
    const detector = new FailureDetector(1_000);
    expect(detector.failedIn([other()], 0, ownUrl)).toEqual([]);
    expect(detector.failedIn([away], 60_000, ownUrl)).toEqual([]);
  });

  it('starts over for a replica that was back, or was not listed any more', () => {
    for (const between of [[other()], []]) {
      const detector = new FailureDetector(1_000);
      detector.failedIn([away], 0, ownUrl);
      detector.failedIn(between, 900, ownUrl);
      expect(detector.nextCheckAtMs).toBe(Infinity);
      expect(detector.failedIn([away], 1_500, ownUrl)).toEqual([]);
      expect(detector.failedIn([away], 2_500, ownUrl)).toEqual(['other']);
    }
  });

  it('needs no grace for an expired lease, nor for an absent replica at our own URL', () => {
    const detector = new FailureDetector(1_000);
    expect(detector.failedIn([other({ expired: true })], 0, ownUrl)).toEqual(['other']);
    expect(detector.failedIn([other({ present: false, url: ownUrl })], 0, ownUrl)).toEqual(['other']);
    expect(detector.failedIn([other({ url: ownUrl })], 0, ownUrl)).toEqual([]);
  });

  it('leaves time to reconnect after an outage of the database', () => {
    const detector = new FailureDetector(1_000);
    detector.failedIn([away], 0, ownUrl);
    detector.ignoreUntil(5_000);
    expect(detector.failedIn([away], 2_000, ownUrl)).toEqual([]);
    expect(detector.failedIn([away], 5_999, ownUrl)).toEqual([]);
    expect(detector.failedIn([away], 6_000, ownUrl)).toEqual(['other']);
  });

  it('never reports a replica that was present less than the grace ago and has not expired', () => {
    const poll = fc.record({ afterMs: fc.integer({ min: 0, max: 700 }), present: fc.boolean() });
    const tooEarly = fc.property(fc.array(poll, { maxLength: 30 }), (polls) => {
      const detector = new FailureDetector(1_000);
      let nowMs = 0;
      let presentMs = 0;
      return polls.every(({ afterMs, present }) => {
        nowMs += afterMs;
        if (present) presentMs = nowMs;
        const gone = detector.failedIn([other({ present })], nowMs, ownUrl);
        return gone.length === 0 || nowMs - presentMs >= 1_000;
      });
    });
    expect(fc.check(tooEarly)).toMatchObject({ failed: false });
  });
});
