import { describe, expect, it } from 'vitest';
import { Broker } from './broker.js';
import { brokerBench, idsOf, lockNext, maxBytes } from './broker.test.fixture.js';
import type { Entity } from './entity.js';
import type { EntityRequest } from './entity-table.js';
import { noLog, PlainContent } from './plain-content.test.fixture.js';

const bench = brokerBench();
const { queue, send } = bench;

describe('topics', () => {
  it('copies a message to every subscription whose rules match, once, and once more per action', () => {
    const topic = bench.broker.entities.create({ kind: 'topic', path: 'prices', options: {} }, 0);
    const subscription = (name: string, rules?: EntityRequest['rules']): Entity =>
      bench.broker.entities.create(
        { kind: 'subscription', path: `prices/Subscriptions/${name}`, options: {}, ...(rules && { rules }) },
        0,
      );
    const all = subscription('all');
    const red = subscription('red', [
      { name: 'a', filter: { kind: 'sql', expression: "color = 'red'" } },
      { name: 'b', filter: { kind: 'true' } },
      { name: 'c', filter: { kind: 'true' }, action: { expression: "SET color = 'painted'; SET sys.Label = 'x'" } },
    ]);
    const none = subscription('none', [{ name: 'never', filter: { kind: 'false' } }]);
    bench.broker.send(topic, [new PlainContent({ user: { color: 'red' } })], 0);
    expect(all.main.store.index.size).toBe(1);
    expect(red.main.peek(0, 9, 0).map(({ content }) => [content.user('color'), content.system('label')])).toEqual([
      ['painted', 'x'],
      ['red', undefined],
    ]);
    expect(none.main.store.index.size).toBe(0);
    bench.broker.entities.removeRule(all, '$default', 0);
    bench.broker.send(topic, [new PlainContent()], 0);
    expect(all.main.store.index.size).toBe(1);
  });

  it('dead-letters a message on which a filter fails, unless the subscription ignores that', () => {
    const topic = bench.broker.entities.create({ kind: 'topic', path: 't', options: {} }, 0);
    const rules = [{ name: 'r', filter: { kind: 'sql', expression: 'size / 0 = 1' } as const }];
    const create = (name: string, keep: boolean): Entity =>
      bench.broker.entities.create(
        {
          kind: 'subscription',
          path: `t/Subscriptions/${name}`,
          rules,
          options: { deadLetteringOnFilterEvaluationExceptions: keep },
        },
        0,
      );
    const [keeps, ignores] = [create('keeps', true), create('ignores', false)];
    bench.broker.send(topic, [new PlainContent({ user: { size: 1n } })], 0);
    expect(keeps.deadLetters.peek(0, 1, 0)[0]?.content.user('DeadLetterErrorDescription')).toContain('divides by zero');
    expect(ignores.deadLetters.store.index.size + ignores.main.store.index.size).toBe(0);
  });

  it('schedules on the topic and fans out at the time', () => {
    const topic = bench.broker.entities.create({ kind: 'topic', path: 't', options: {} }, 0);
    const one = bench.broker.entities.create({ kind: 'subscription', path: 't/Subscriptions/one', options: {} }, 0);
    bench.broker.schedule(topic, [new PlainContent({ scheduledAtMs: 50 })], 0);
    expect(one.main.store.index.size).toBe(0);
    bench.broker.advance(50);
    expect(one.main.store.index.size).toBe(1);
  });
});

describe('forwarding', () => {
  it('moves messages and dead letters to other entities, and what cannot be moved to the transfer queue', () => {
    const target = queue('target');
    const source = queue('source', { forwardTo: 'Target' });
    const careful = queue('careful', { forwardDeadLetteredMessagesTo: 'target' });
    const lost = queue('lost', { forwardTo: 'nowhere' });
    const loop = queue('loop', { forwardTo: 'loop' });
    for (const entity of [source, careful, lost, loop]) send(entity, entity.path);
    careful.main.deadLetter(lockNext(careful.main, 0), 0, { reason: 'bad', description: '' });
    expect(idsOf(target.main)).toEqual(['source', 'careful']);
    expect(lost.transfer.peek(0, 1, 0)[0]?.content.user('DeadLetterErrorDescription')).toContain('nowhere');
    expect(loop.transfer.peek(0, 1, 0)[0]?.content.user('DeadLetterReason')).toBe('MaxTransferHopCountExceeded');
  });
});

describe('entities', () => {
  it('are found without regard to case and refused when they are wrong', () => {
    queue('Orders');
    expect(bench.broker.entities.get('orders')?.path).toBe('Orders');
    expect(() => queue('ORDERS')).toThrow(expect.objectContaining({ code: 'entity-exists' }));
    expect(() => queue('a b')).toThrow('not valid');
    expect(() => queue('q', { maxDeliveryCount: 0 })).toThrow('maxDeliveryCount is 0');
    expect(() =>
      bench.broker.entities.create({ kind: 'subscription', path: 'x/Subscriptions/y', options: {} }, 0),
    ).toThrow('Create the topic first');
    expect(() => bench.broker.resolveQueue('orders/$deadletterqueue', 'receive', 0)).not.toThrow();
  });

  it('that are disabled refuse to send, to receive, or both', () => {
    const orders = queue('orders', { status: 'SendDisabled' });
    expect(() => send(orders, 'a')).toThrow(expect.objectContaining({ code: 'entity-disabled' }));
    expect(() => bench.broker.resolveQueue('orders', 'receive', 0)).not.toThrow();
    bench.broker.entities.update(orders, { status: 'ReceiveDisabled' }, 0);
    send(orders, 'a');
    expect(() => bench.broker.resolveQueue('orders', 'receive', 0)).toThrow(
      expect.objectContaining({ code: 'entity-disabled' }),
    );
  });

  it('made on first use become what the first receivers need', () => {
    const sent = bench.broker.resolve('events', 'send', 0).entity;
    send(sent, 'a');
    bench.broker.schedule(sent, [new PlainContent({ id: 'later', scheduledAtMs: 10 })], 0);
    const subscription = bench.broker.resolveQueue('events/Subscriptions/audit', 'receive', 0);
    expect(bench.broker.entities.get('events')?.description.kind).toBe('topic');
    expect(idsOf(subscription.queue)).toEqual(['a']);
    bench.broker.advance(10);
    expect(idsOf(subscription.queue)).toEqual(['a', 'later']);
    const jobs = bench.broker.resolve('jobs', 'send', 0).entity;
    bench.broker.send(jobs, [new PlainContent({ id: 'j', sessionId: 's' })], 0);
    const { queue: withSessions } = bench.broker.resolveQueue('jobs', 'receive-session', 0);
    expect(withSessions.lockSession(undefined, 0)?.sessionId).toBe('s');
  });

  it('are made on first use up to a bound, and declared without one', () => {
    for (let index = 0; index < 10_000; index += 1) bench.broker.resolve(`queue-${index}`, 'send', 0);
    expect(() => bench.broker.resolve('one-more', 'send', 0)).toThrow(
      expect.objectContaining({ code: 'quota-exceeded' }),
    );
    expect(queue('one-more').path).toBe('one-more');
  });

  it('are not made on first use if that is not wanted', () => {
    const strict = new Broker(
      { maxBytes, createOnFirstUse: false },
      { log: noLog, onAvailable: () => undefined, onDeadline: () => undefined },
    );
    expect(() => strict.resolve('orders', 'send', 0)).toThrow("The messaging entity 'orders' could not be found.");
  });

  it('are deleted with their messages and subscriptions', () => {
    bench.broker.resolveQueue('t/Subscriptions/s', 'receive', 0);
    bench.broker.send(bench.broker.resolve('t', 'send', 0).entity, [new PlainContent()], 0);
    expect(bench.broker.entities.delete('T').map((entity) => entity.path)).toEqual(['t/Subscriptions/s', 't']);
    expect([...bench.broker.entities.all()]).toEqual([]);
    expect(bench.broker.usedBytes).toBe(0);
  });
});
