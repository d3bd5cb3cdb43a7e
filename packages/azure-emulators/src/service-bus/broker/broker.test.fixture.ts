import { beforeEach } from 'vitest';
import { Broker } from './broker.js';
import type { Entity } from './entity.js';
import type { EntityRequest } from './entity-table.js';
import type { MessageLock } from './message.js';
import type { MessageQueue } from './message-queue.js';
import { noLog, PlainContent } from './plain-content.test.fixture.js';

export const maxBytes = 1_000_000;

/** A new broker for each test of a file, and the deadlines that it has asked for. */
export function brokerBench() {
  const bench = {
    broker: undefined as unknown as Broker, // set before each test
    deadlines: [] as number[],
    queue: (path: string, options: EntityRequest['options'] = {}): Entity =>
      bench.broker.entities.create({ kind: 'queue', path, options }, 0),
    send: (entity: Entity, ...ids: string[]): void => {
      bench.broker.send(
        entity,
        ids.map((id) => new PlainContent({ id })),
        0,
      );
    },
  };
  beforeEach(() => {
    bench.deadlines = [];
    bench.broker = new Broker(
      { maxBytes, createOnFirstUse: true },
      { log: noLog, onAvailable: () => undefined, onDeadline: (atMs) => bench.deadlines.push(atMs) },
    );
  });
  return bench;
}

export function lockNext(from: MessageQueue, nowMs: number): MessageLock {
  const locked = from.lockNext(nowMs);
  if (locked === undefined) throw new Error('no message waits');
  return locked;
}

export const idsOf = (from: MessageQueue, nowMs = 0): string[] =>
  from.peek(0, 100, nowMs).map((message) => message.content.messageId);
