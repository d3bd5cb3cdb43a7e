import { describe, expect, it } from 'vitest';
import { afterRun, beforeRun } from './settlement.js';
import type { QueueMessage } from './storage-queue.js';

const now = Date.UTC(2030, 0, 1);
const dayMs = 24 * 3_600_000;
const message = (dequeueCount: number, expiresInMs = 7 * dayMs): QueueMessage => ({
  id: 'message-1',
  popReceipt: 'receipt-1',
  text: '',
  dequeueCount,
  insertedOn: new Date(now),
  expiresOn: new Date(now + expiresInMs),
  nextVisibleOn: new Date(now),
});
const limits = { maxDequeueCount: 5, poisonQueueName: 'orders-poison', visibilityTimeoutMs: 30_000 };
const ofPoisonQueue = { ...limits, poisonQueueName: undefined };

describe('before it runs', () => {
  it('a message may run as often as it may be delivered', () => {
    expect(beforeRun(message(1), limits)).toEqual({ kind: 'run' });
    expect(beforeRun(message(5), limits)).toEqual({ kind: 'run' });
  });

  it('a message that was delivered too often is poison', () => {
    const reason = 'delivered 5 times and never settled';
    expect(beforeRun(message(6), limits)).toEqual({ kind: 'poison', poisonQueue: 'orders-poison', reason });
  });

  it('a message of a poison queue always runs', () => {
    expect(beforeRun(message(99), ofPoisonQueue)).toEqual({ kind: 'run' });
  });
});

describe('after it ran', () => {
  it('a completed message is removed, however often it came', () => {
    expect(afterRun({ kind: 'complete' }, message(5), limits, now)).toEqual({ kind: 'remove' });
  });

  it('an abandoned message comes back after the delay, or else the visibility timeout', () => {
    expect(afterRun({ kind: 'abandon' }, message(1), limits, now)).toEqual({ kind: 'hide', forMs: 30_000 });
    expect(afterRun({ kind: 'abandon', delayMs: 0 }, message(4), limits, now)).toEqual({ kind: 'hide', forMs: 0 });
    expect(afterRun({ kind: 'abandon', delayMs: -1 }, message(4), limits, now)).toEqual({ kind: 'hide', forMs: 0 });
  });

  it('a delay is whole seconds, never shorter than asked for and never more than the service allows', () => {
    expect(afterRun({ kind: 'abandon', delayMs: 1_001 }, message(1), limits, now)).toEqual({
      kind: 'hide',
      forMs: 2_000,
    });
    const long = { kind: 'abandon', delayMs: 30 * dayMs } as const;
    expect(afterRun(long, message(1, 99 * dayMs), limits, now)).toEqual({ kind: 'hide', forMs: 7 * dayMs });
  });

  it('a message does not expire while it is hidden', () => {
    const delayed = { kind: 'abandon', delayMs: 3_600_000 } as const;
    expect(afterRun(delayed, message(1, 600_000), limits, now)).toEqual({ kind: 'hide', forMs: 540_000 });
    expect(afterRun(delayed, message(1, 10_000), limits, now)).toEqual({ kind: 'hide', forMs: 0 });
  });

  it('a message that failed as often as it may is poison, whatever delay was asked for', () => {
    const poison = { kind: 'poison', poisonQueue: 'orders-poison', reason: 'failed 5 times' };
    expect(afterRun({ kind: 'abandon' }, message(5), limits, now)).toEqual(poison);
    expect(afterRun({ kind: 'abandon', delayMs: 60_000 }, message(5), limits, now)).toEqual(poison);
  });

  it('a rejected message is poison at once', () => {
    const poison = { kind: 'poison', poisonQueue: 'orders-poison', reason: 'no such customer' };
    expect(afterRun({ kind: 'deadLetter', reason: 'no such customer' }, message(1), limits, now)).toEqual(poison);
  });

  it('what fails in a poison queue stays hidden for its lease, unless a delay is asked for', () => {
    expect(afterRun({ kind: 'abandon' }, message(9), ofPoisonQueue, now)).toEqual({ kind: 'leave' });
    expect(afterRun({ kind: 'deadLetter', reason: 'x' }, message(9), ofPoisonQueue, now)).toEqual({ kind: 'leave' });
    const delayed = { kind: 'abandon', delayMs: 5_000 } as const;
    expect(afterRun(delayed, message(9), ofPoisonQueue, now)).toEqual({ kind: 'hide', forMs: 5_000 });
  });
});
