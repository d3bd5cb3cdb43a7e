import { describe, expect, it } from 'vitest';
import { ArrivalRate } from './arrival-rate.js';

describe('the arrival rate', () => {
  it('is unknown at the first measurement, and at a second one at the same time', () => {
    const rate = new ArrivalRate();
    expect(rate.next({ atMs: 0, waiting: 5, taken: 0 })).toBeUndefined();
    expect(rate.next({ atMs: 0, waiting: 5, taken: 0 })).toBeUndefined();
  });

  it('counts messages that wait and messages that were received in between', () => {
    const rate = new ArrivalRate();
    rate.next({ atMs: 0, waiting: 10, taken: 100 });
    expect(rate.next({ atMs: 2_000, waiting: 4, taken: 126 })).toBe(10);
    expect(rate.next({ atMs: 3_000, waiting: 9, taken: 126 })).toBe(5);
  });

  it('is zero when other consumers received more than arrived', () => {
    const rate = new ArrivalRate();
    rate.next({ atMs: 0, waiting: 10, taken: 0 });
    expect(rate.next({ atMs: 1_000, waiting: 0, taken: 3 })).toBe(0);
  });

  it('is unknown again after a reset', () => {
    const rate = new ArrivalRate();
    rate.next({ atMs: 0, waiting: 10, taken: 0 });
    rate.reset();
    expect(rate.next({ atMs: 1_000, waiting: 20, taken: 0 })).toBeUndefined();
  });
});
