import { describe, expect, it } from 'vitest';
import { brokerBench, idsOf, lockNext, maxBytes } from './broker.test.fixture.js';
import type { Entity } from './entity.js';
import type { MessageQueue } from './message-queue.js';
import { PlainContent } from './plain-content.test.fixture.js';

const bench = brokerBench();
const { queue, send } = bench;
const received = (from: MessageQueue, nowMs: number): string | undefined => from.removeNext(nowMs)?.content.messageId;

describe('a queue', () => {
  it('gives messages in order and counts from 1', () => {
    const orders = queue('orders');
    send(orders, 'a', 'b');
    expect(lockNext(orders.main, 0).message).toMatchObject({
      sequenceNumber: 1,
      deliveryCount: 0,
      content: { messageId: 'a' },
    });
    expect(lockNext(orders.main, 0).message.content.messageId).toBe('b');
    expect(orders.main.lockNext(0)).toBeUndefined();
    expect(orders.main.store.counts).toEqual({ active: 0, locked: 2, deferred: 0, scheduled: 0 });
  });

  it('returns an abandoned message to its place, with its changed properties', () => {
    const orders = queue('orders');
    send(orders, 'a', 'b', 'c');
    const [first, second] = [lockNext(orders.main, 0), lockNext(orders.main, 0)];
    orders.main.abandon(second, 0);
    orders.main.abandon(first, 0, { system: new Map(), user: new Map([['tried', 1n]]) });
    const again = lockNext(orders.main, 0);
    expect(again.message).toMatchObject({ sequenceNumber: 1, deliveryCount: 1 });
    expect(again.message.content.user('tried')).toBe(1n);
    expect([received(orders.main, 0), received(orders.main, 0)]).toEqual(['b', 'c']);
  });

  it('refuses every settlement after the lock has expired and delivers again, counted', () => {
    const orders = queue('orders', { lockDurationMs: 1_000 });
    send(orders, 'a');
    const first = lockNext(orders.main, 0);
    expect(bench.deadlines).toContain(1_000);
    for (const settle of ['complete', 'abandon', 'defer'] as const) {
      expect(() => orders.main[settle](first, 1_000)).toThrow(expect.objectContaining({ code: 'message-lock-lost' }));
    }
    expect(() => orders.main.renew(first, 1_000)).toThrow('lock');
    expect(lockNext(orders.main, 1_000).message.deliveryCount).toBe(1);
  });

  it('keeps a renewed lock and lets others expire before it', () => {
    const orders = queue('orders', { lockDurationMs: 1_000 });
    send(orders, 'a', 'b');
    const [first] = [lockNext(orders.main, 0), lockNext(orders.main, 0)];
    expect(orders.main.renew(first, 900)).toBe(1_900);
    orders.main.advance(1_500);
    expect(idsOf(orders.main)).toEqual(['a', 'b']);
    expect(received(orders.main, 1_500)).toBe('b');
    orders.main.complete(first, 1_899);
    expect(orders.main.store.index.size).toBe(0);
  });

  it('lets a shorter lock expire before a longer one after the lock duration has changed', () => {
    const orders = queue('orders', { lockDurationMs: 10_000 });
    send(orders, 'a', 'b');
    lockNext(orders.main, 0);
    bench.broker.entities.update(orders, { lockDurationMs: 100 }, 0);
    lockNext(orders.main, 0);
    expect(orders.main.nextDeadlineMs()).toBe(100);
    expect(lockNext(orders.main, 100).message.content.messageId).toBe('b');
  });

  it('dead-letters a message at the delivery that makes the maximum', () => {
    const orders = queue('orders', { maxDeliveryCount: 2, lockDurationMs: 100 });
    send(orders, 'a');
    orders.main.abandon(lockNext(orders.main, 0), 0);
    lockNext(orders.main, 0);
    bench.broker.advance(100);
    expect(orders.main.store.index.size).toBe(0);
    const [dead] = orders.deadLetters.peek(0, 1, 100);
    expect(dead).toMatchObject({ deadLetterSource: 'orders', deliveryCount: 2 });
    expect(dead?.content.user('DeadLetterReason')).toBe('MaxDeliveryCountExceeded');
    for (let attempt = 0; attempt < 5; attempt += 1) orders.deadLetters.abandon(lockNext(orders.deadLetters, 100), 100);
    expect(orders.deadLetters.store.index.size).toBe(1);
  });

  it('gives deferred messages by number only, and keeps one that is abandoned deferred', () => {
    const orders = queue('orders');
    send(orders, 'a', 'b');
    orders.main.defer(lockNext(orders.main, 0), 0);
    expect(received(orders.main, 0)).toBe('b');
    expect(orders.main.lockNext(0)).toBeUndefined();
    expect(() => orders.main.lockDeferred([1, 7], 0)).toThrow(expect.objectContaining({ code: 'message-not-found' }));
    const [deferred] = orders.main.lockDeferred([1], 0);
    if (deferred === undefined) throw new Error('not received');
    orders.main.abandon(deferred, 0);
    expect(orders.main.lockNext(0)).toBeUndefined();
    expect(orders.main.removeDeferred([1], 0)).toHaveLength(1);
    expect(orders.main.store.index.size).toBe(0);
  });

  it('delivers scheduled messages at their time as new messages, and cancels them before', () => {
    const orders = queue('orders');
    const [first = 0, second = 0] = bench.broker.schedule(
      orders,
      [new PlainContent({ id: 'a', scheduledAtMs: 500 }), new PlainContent({ id: 'b', scheduledAtMs: 400 })],
      0,
    );
    bench.broker.send(orders, [new PlainContent({ id: 'c', scheduledAtMs: 600 })], 0);
    expect(orders.main.lockNext(399)).toBeUndefined();
    orders.main.cancelScheduled([first], 399);
    expect(() => orders.main.cancelScheduled([first], 399)).toThrow(
      expect.objectContaining({ code: 'message-not-found' }),
    );
    const active = lockNext(orders.main, 400).message;
    expect(active).toMatchObject({ sequenceNumber: 4, enqueuedAtMs: 400, content: { messageId: 'b' } });
    expect(active.sequenceNumber).toBeGreaterThan(second);
    expect(received(orders.main, 600)).toBe('c');
  });

  it('expires messages, into the dead-letter queue if that is wanted, but not while they are locked', () => {
    const lossy = queue('lossy', { defaultMessageTimeToLiveMs: 100 });
    const careful = queue('careful', { deadLetteringOnMessageExpiration: true, lockDurationMs: 300 });
    bench.broker.send(lossy, [new PlainContent({ timeToLiveMs: 10_000 })], 0);
    bench.broker.send(
      careful,
      [new PlainContent({ id: 'a', timeToLiveMs: 100 }), new PlainContent({ id: 'b', timeToLiveMs: 100 })],
      0,
    );
    const held = lockNext(careful.main, 0);
    bench.broker.advance(100);
    expect(lossy.main.store.index.size + lossy.deadLetters.store.index.size).toBe(0);
    expect(idsOf(careful.main, 100)).toEqual(['a']);
    careful.main.abandon(held, 200);
    expect(idsOf(careful.deadLetters, 200)).toEqual(['b', 'a']);
    expect(careful.deadLetters.peek(0, 1, 200)[0]?.content.user('DeadLetterReason')).toBe('TTLExpiredException');
  });

  it('accepts and drops a message id that it has seen within the window', () => {
    const orders = queue('orders', { requiresDuplicateDetection: true, duplicateDetectionHistoryTimeWindowMs: 1_000 });
    const again = (nowMs: number): void => bench.broker.send(orders, [new PlainContent({ id: 'a' })], nowMs);
    again(0);
    received(orders.main, 0);
    again(999);
    expect(orders.main.store.index.size).toBe(0);
    again(1_000);
    expect(orders.main.store.index.size).toBe(1);
  });

  it('refuses what does not fit into memory or into the entity, and takes it when there is room again', () => {
    const orders = queue('orders', { maxSizeInMegabytes: 1 });
    const large = new PlainContent({ bytes: 600_000 });
    bench.broker.send(orders, [large], 0);
    expect(() => bench.broker.send(orders, [large], 0)).toThrow(expect.objectContaining({ code: 'quota-exceeded' }));
    expect(orders.main.store.index.size).toBe(1);
    received(orders.main, 0);
    expect(bench.broker.usedBytes).toBe(0);
    bench.broker.send(orders, [large], 0);
  });

  it('peeks all states from a number on and deletes waiting ones only', () => {
    const orders = queue('orders');
    send(orders, 'a', 'b', 'c', 'd');
    orders.main.defer(lockNext(orders.main, 0), 0);
    lockNext(orders.main, 0);
    expect(orders.main.peek(2, 2, 0).map((message) => message.content.messageId)).toEqual(['b', 'c']);
    expect(orders.main.deleteWaiting(1, 0, 0)).toBe(1);
    expect(idsOf(orders.main)).toEqual(['a', 'b', 'd']);
    expect(orders.main.purge('unlocked')).toBe(2);
    expect(idsOf(orders.main)).toEqual(['b']);
  });

  it('sends dead letters back without their reason', () => {
    const orders = queue('orders');
    send(orders, 'a', 'b');
    const reason = { reason: 'bad', description: 'worse' };
    orders.main.deadLetter(lockNext(orders.main, 0), 0, reason);
    orders.main.deadLetter(lockNext(orders.main, 0), 0, reason);
    expect(bench.broker.requeueDeadLetters(orders, [2], 0)).toBe(1);
    expect(bench.broker.requeueDeadLetters(orders, undefined, 0)).toBe(1);
    const message = lockNext(orders.main, 0).message;
    expect(message).toMatchObject({ content: { messageId: 'b' }, deliveryCount: 0 });
    expect(message.content.user('DeadLetterReason')).toBeUndefined();
  });
});

describe('sessions', () => {
  const sessions = (): Entity => queue('jobs', { requiresSession: true, lockDurationMs: 1_000 });
  const sendTo = (entity: Entity, sessionId: string, id: string): void =>
    bench.broker.send(entity, [new PlainContent({ id, sessionId })], 0);

  it('refuses a message without a session id', () => {
    expect(() => send(sessions(), 'a')).toThrow(expect.objectContaining({ code: 'not-allowed' }));
  });

  it('gives a session to one receiver, the longest waiting first, and its messages in order', () => {
    const jobs = sessions();
    for (const [sessionId, id] of [
      ['s1', 'a'],
      ['s2', 'b'],
      ['s1', 'c'],
    ] as const)
      sendTo(jobs, sessionId, id);
    const first = jobs.main.lockSession(undefined, 0);
    const second = jobs.main.lockSession(undefined, 0);
    expect([first?.sessionId, second?.sessionId]).toEqual(['s1', 's2']);
    expect(jobs.main.lockSession(undefined, 0)).toBeUndefined();
    expect(() => jobs.main.lockSession('s1', 0)).toThrow(expect.objectContaining({ code: 'session-cannot-be-locked' }));
    if (first === undefined) throw new Error('no session');
    const held = jobs.main.lockNext(0, first);
    expect(held?.message.content.messageId).toBe('a');
    if (held !== undefined) jobs.main.abandon(held, 0);
    expect(jobs.main.removeNext(0, first)?.content.messageId).toBe('a');
    expect(jobs.main.removeNext(0, first)?.content.messageId).toBe('c');
    expect(jobs.main.removeNext(0, first)).toBeUndefined();
  });

  it('returns messages of a session whose lock expires, counted, and refuses the old holder', () => {
    const jobs = sessions();
    sendTo(jobs, 's1', 'a');
    const session = jobs.main.lockSession('s1', 0);
    if (session === undefined) throw new Error('no session');
    const held = jobs.main.lockNext(0, session);
    expect(jobs.main.renewSession(session, 900)).toBe(1_900);
    expect(held?.untilMs).toBe(1_900);
    bench.broker.advance(1_900);
    expect(jobs.main.isSessionHeld(session, 1_900)).toBe(false);
    if (held !== undefined)
      expect(() => jobs.main.complete(held, 1_900)).toThrow(expect.objectContaining({ code: 'session-lock-lost' }));
    const again = jobs.main.lockSession(undefined, 1_900);
    expect(again?.sessionId).toBe('s1');
    expect(jobs.main.lockNext(1_900, again)?.message.deliveryCount).toBe(1);
    expect(jobs.main.lockNext(1_900, session)).toBeUndefined();
  });

  it('keeps the state of a session until it is cleared, and forgets empty sessions', () => {
    const jobs = sessions();
    sendTo(jobs, 's1', 'a');
    jobs.main.setSessionState('s1', Buffer.from('state'), 0);
    const session = jobs.main.lockSession('s1', 0);
    if (session === undefined) throw new Error('no session');
    jobs.main.removeNext(0, session);
    jobs.main.releaseSession(session, 0);
    expect(jobs.main.store.sessions.get('s1')?.state?.toString()).toBe('state');
    expect(bench.broker.usedBytes).toBe(5);
    const large = Buffer.alloc(maxBytes + 1);
    expect(() => jobs.main.setSessionState('s1', large, 0)).toThrow(
      expect.objectContaining({ code: 'quota-exceeded' }),
    );
    jobs.main.setSessionState('s1', undefined, 0);
    expect(jobs.main.store.sessions.get('s1')).toBeUndefined();
  });
});
