import { FakeClock } from '@drover/testkit';
import { beforeEach, describe, expect, it } from 'vitest';
import { batchAfterFailures, DeliveryLane, nextBatch } from './delivery-lane.js';
import type { BusMessageLock } from './bus-message-lock.js';

const limits = { max: 10, min: 3, maxWaitMs: 5_000 };

describe('the next batch', () => {
  const view = { waiting: 5, oldestMs: 0, quietForMs: 10 };

  it('is what waits, at most the maximum', () => {
    expect(nextBatch(view, limits)).toEqual({ size: 5 });
    expect(nextBatch({ ...view, waiting: 25 }, limits)).toEqual({ size: 10 });
  });

  it('waits for the minimum, but no longer than allowed', () => {
    expect(nextBatch({ ...view, waiting: 2, oldestMs: 1_000 }, limits)).toEqual({ waitMs: 4_000 });
    expect(nextBatch({ ...view, waiting: 2, oldestMs: 5_000 }, limits)).toEqual({ size: 2 });
  });

  it('gathers messages that come one after the other, for a short while', () => {
    expect(nextBatch({ ...view, quietForMs: 0 }, limits)).toEqual({ waitMs: 1 });
    expect(nextBatch({ ...view, quietForMs: 0, oldestMs: 20 }, limits)).toEqual({ size: 5 });
    expect(nextBatch({ ...view, quietForMs: 0, waiting: 10 }, limits)).toEqual({ size: 10 });
  });
});

describe('a batch after failures', () => {
  it('is as large as allowed at the first delivery, and half as large after each failure', () => {
    expect(batchAfterFailures([1, 1, 1, 1], 4, 8)).toBe(4);
    expect(batchAfterFailures([2, 2, 2, 2, 2, 2], 6, 8)).toBe(4);
    expect(batchAfterFailures([3, 3, 3, 3], 4, 8)).toBe(2);
    expect(batchAfterFailures([9, 9], 2, 8)).toBe(1);
  });

  it('ends before a message that has failed more often than the others', () => {
    expect(batchAfterFailures([1, 1, 1, 9, 1], 5, 8)).toBe(3);
    expect(batchAfterFailures([9, 1, 1], 3, 8)).toBe(1);
  });
});

describe('a lane', () => {
  let clock: FakeClock;
  let isOpen = true;
  let idle = 0;
  const started: string[] = [];
  let ends: (() => void)[] = [];
  beforeEach(() => {
    clock = new FakeClock();
    isOpen = true;
    idle = 0;
    started.length = 0;
    ends = [];
  });

  const lane = (concurrency: number, batch?: typeof limits): DeliveryLane =>
    new DeliveryLane({
      concurrency: () => concurrency,
      batch,
      clock,
      isOpen: () => isOpen,
      run: (locks) => {
        started.push(locks.map(({ message }) => message.messageId).join(' '));
        return new Promise((resolve) => ends.push(resolve));
      },
      onIdle: () => (idle += 1),
    });
  const lock = (id: string): BusMessageLock =>
    ({
      message: { messageId: id, deliveryCount: 1 },
      receivedAtMs: clock.monotonicMs(),
      onGone: () => undefined,
    }) as unknown as BusMessageLock; // all that a lane reads
  const push = (to: DeliveryLane, ...ids: readonly string[]): void => {
    to.push(ids.map(lock));
  };
  const end = async (): Promise<void> => {
    ends.shift()?.();
    await clock.advance(0);
  };

  it('starts messages in order, as many at a time as allowed', async () => {
    const two = lane(2);
    push(two, 'a', 'b', 'c', 'd');
    expect(started).toEqual(['a', 'b']);
    await end();
    expect(started).toEqual(['a', 'b', 'c']);
    await end();
    await end();
    await end();
    expect(started).toEqual(['a', 'b', 'c', 'd']);
    expect([two.isIdle, idle]).toEqual([true, 1]);
  });

  it('starts nothing while it is closed, and gives back what waits', async () => {
    isOpen = false;
    const one = lane(1);
    push(one, 'a', 'b');
    expect(started).toEqual([]);
    isOpen = true;
    one.proceed();
    expect(started).toEqual(['a']);
    expect(one.takeWaiting().map(({ message }) => message.messageId)).toEqual(['b']);
    await end();
    expect(started).toEqual(['a']);
  });

  it('forgets a message whose lock is lost before it starts', async () => {
    const one = lane(1);
    const lost = lock('b');
    push(one, 'a');
    one.push([lost]);
    push(one, 'c');
    lost.onGone(lost);
    await end();
    expect(started).toEqual(['a', 'c']);
  });

  it('makes batches: those that come together, and one at a time', async () => {
    const one = lane(1, { max: 3, min: 1, maxWaitMs: 5_000 });
    push(one, 'a', 'b');
    expect(started).toEqual([]);
    await clock.advance(2);
    expect(started).toEqual(['a b']);
    push(one, 'c', 'd', 'e', 'f');
    await clock.advance(100);
    expect(started).toEqual(['a b']);
    await end();
    expect(started).toEqual(['a b', 'c d e']);
    await end();
    expect(started).toEqual(['a b', 'c d e', 'f']);
  });

  it('starts a batch of the smallest size as soon as it is there', async () => {
    const one = lane(1, { max: 10, min: 3, maxWaitMs: 5_000 });
    push(one, 'a', 'b');
    await clock.advance(5);
    push(one, 'c');
    await clock.advance(3);
    expect(started).toEqual(['a b c']);
  });

  it('waits for a batch of the smallest size', async () => {
    const one = lane(1, { max: 10, min: 3, maxWaitMs: 5_000 });
    push(one, 'a');
    await clock.advance(4_000);
    expect(started).toEqual([]);
    push(one, 'b', 'c');
    await clock.advance(2);
    expect(started).toEqual(['a b c']);
    await end();
    push(one, 'd');
    await clock.advance(5_100);
    expect(started).toEqual(['a b c', 'd']);
  });
});
