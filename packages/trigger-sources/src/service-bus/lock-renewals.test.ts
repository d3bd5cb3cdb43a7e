import { FakeClock, seededRandomness } from '@drover/testkit';
import { beforeEach, describe, expect, it } from 'vitest';
import { lockEndMs, LockRenewals, type RenewableLock } from './lock-renewals.js';

class TestLock implements RenewableLock {
  endsAtMs: number;
  renewUntilMs: number;
  readonly renewedAt: number[] = [];
  readonly lost: unknown[] = [];
  failure: unknown;
  readonly #clock: FakeClock;

  constructor(clock: FakeClock, { lockMs = 30_000, renewForMs = 300_000 } = {}) {
    this.#clock = clock;
    this.endsAtMs = clock.monotonicMs() + lockMs;
    this.renewUntilMs = clock.monotonicMs() + renewForMs;
  }

  async renew(): Promise<void> {
    this.renewedAt.push(Math.round(this.#clock.monotonicMs()));
    if (this.failure !== undefined) throw this.failure;
    this.endsAtMs = this.#clock.monotonicMs() + 30_000;
  }

  onLost(error: unknown): void {
    this.lost.push(error);
  }
}

describe('renewals of locks', () => {
  let clock: FakeClock;
  let renewals: LockRenewals;
  beforeEach(() => {
    clock = new FakeClock();
    renewals = new LockRenewals({ clock, randomness: seededRandomness(1) });
  });

  it('happen at half of the remaining time, again and again', async () => {
    const startMs = clock.monotonicMs();
    const lock = new TestLock(clock);
    renewals.add(lock);
    await clock.advance(46_000);
    expect(lock.renewedAt.map((at) => at - startMs)).toEqual([15_000, 30_000, 45_000]);
    expect(lock.lost).toEqual([]);
  });

  it('end with the lock: a settled message needs none', async () => {
    const lock = new TestLock(clock);
    renewals.add(lock);
    renewals.remove(lock);
    await clock.advance(60_000);
    expect(lock.renewedAt).toEqual([]);
    expect(lock.lost).toEqual([]);
  });

  it('end at the limit, and the lock is lost when it expires', async () => {
    const lock = new TestLock(clock, { renewForMs: 20_000 });
    renewals.add(lock);
    await clock.advance(44_000);
    expect(lock.renewedAt).toHaveLength(1);
    expect(lock.lost).toEqual([]);
    await clock.advance(2_000);
    expect(String(lock.lost[0])).toContain('maxAutoLockRenewalDuration');
  });

  it('are not tried with a limit of zero', async () => {
    const lock = new TestLock(clock, { renewForMs: 0 });
    renewals.add(lock);
    await clock.advance(31_000);
    expect(lock.renewedAt).toEqual([]);
    expect(lock.lost).toHaveLength(1);
  });

  it('are retried while the lock lasts', async () => {
    const lock = new TestLock(clock);
    lock.failure = new Error('no answer');
    renewals.add(lock);
    await clock.advance(20_000);
    expect(lock.renewedAt.length).toBeGreaterThan(2);
    lock.failure = undefined;
    await clock.advance(6_000);
    expect(lock.lost).toEqual([]);
    lock.failure = new Error('no answer');
    await clock.advance(60_000);
    expect(lock.lost).toEqual([lock.failure]);
  });

  it('are given up when no answer comes before the lock ends', async () => {
    const lock = new TestLock(clock);
    lock.renew = () => new Promise(() => undefined);
    renewals.add(lock);
    await clock.advance(29_900);
    expect(lock.lost).toEqual([]);
    await clock.advance(200);
    expect(lock.lost).toHaveLength(1);
  });

  it('end at once when the service reports the loss', async () => {
    const lock = new TestLock(clock);
    lock.failure = Object.assign(new Error('gone'), { code: 'MessageLockLost' });
    renewals.add(lock);
    await clock.advance(15_100);
    expect(lock.lost).toEqual([lock.failure]);
    expect(lock.renewedAt).toHaveLength(1);
  });

  it('serve locks of different lengths with one timer', async () => {
    const [long, short] = [new TestLock(clock, { lockMs: 300_000 }), new TestLock(clock, { lockMs: 4_000 })];
    renewals.add(long);
    renewals.add(short);
    await clock.advance(3_000);
    expect([long.renewedAt.length, short.renewedAt.length]).toEqual([0, 1]);
  });

  it('stop for ever when they are closed', async () => {
    const lock = new TestLock(clock);
    renewals.add(lock);
    renewals.close();
    await clock.advance(60_000);
    expect(lock.renewedAt).toEqual([]);
    expect(lock.lost).toEqual([]);
  });
});

describe('the end of a lock', () => {
  it('follows the service, and is never absurd when clocks disagree', () => {
    const clock = new FakeClock();
    const leftMs = (untilMs: number): number => lockEndMs(clock, clock.now() + untilMs) - clock.monotonicMs();
    expect(leftMs(30_000)).toBeCloseTo(30_000);
    expect(leftMs(-60_000)).toBeCloseTo(1_000);
    expect(leftMs(86_400_000)).toBeCloseTo(300_000);
    expect(lockEndMs(clock, undefined) - clock.monotonicMs()).toBeCloseTo(1_000);
  });
});
