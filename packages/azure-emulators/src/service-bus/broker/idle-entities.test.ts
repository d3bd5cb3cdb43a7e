import { beforeEach, describe, expect, it } from 'vitest';
import { Broker } from './broker.js';
import type { Entity } from './entity.js';
import { noLog } from './plain-content.test.fixture.js';

const idleMs = 300_000;
let deadlines: number[];
let broker: Broker;
let deleted: string[];
let attached: Set<string>;
const clients = {
  isAttached: (entity: Entity) => attached.has(entity.path),
  closeEntities: (entities: readonly Entity[]) => void deleted.push(...entities.map(({ path }) => path)),
};

beforeEach(() => {
  [deadlines, deleted, attached] = [[], [], new Set()];
  broker = new Broker(
    { maxBytes: 1e6, createOnFirstUse: true },
    { log: noLog, onAvailable: () => undefined, onDeadline: (atMs) => void deadlines.push(atMs) },
  );
  broker.entities.create({ kind: 'queue', path: 'temporary', options: { autoDeleteOnIdleMs: idleMs } }, 0);
});

describe('an entity with autoDeleteOnIdle', () => {
  it('is deleted when it was not used for that long, and its clients are told', () => {
    expect(deadlines).toContain(idleMs);
    expect(broker.advance(idleMs - 1, clients)).toBe(idleMs);
    expect(broker.entities.get('temporary')).toBeDefined();
    expect(broker.advance(idleMs, clients)).toBe(Infinity);
    expect(broker.entities.get('temporary')).toBeUndefined();
    expect(deleted).toEqual(['temporary']);
  });

  it('is counted anew by a receiver that comes, and kept while a client is attached', () => {
    broker.resolveQueue('temporary', 'receive', 100_000);
    expect(broker.advance(idleMs, clients)).toBe(100_000 + idleMs);
    attached.add('temporary');
    expect(broker.advance(10 * idleMs, clients)).toBe(11 * idleMs);
    attached.clear();
    // The client left at a time that is not known: the whole time counts once more.
    expect(broker.advance(11 * idleMs, clients)).toBe(12 * idleMs);
    broker.advance(12 * idleMs, clients);
    expect(deleted).toEqual(['temporary']);
  });

  it('takes the subscriptions of a topic with it', () => {
    const options = { autoDeleteOnIdleMs: idleMs };
    broker.entities.create({ kind: 'topic', path: 'news', options }, 0);
    broker.entities.create({ kind: 'subscription', path: 'news/Subscriptions/all', options: {} }, 0);
    attached.add('news/Subscriptions/all');
    broker.advance(idleMs, clients);
    expect(broker.entities.get('news')).toBeDefined();
    attached.clear();
    broker.advance(2 * idleMs, clients);
    broker.advance(3 * idleMs, clients);
    expect(deleted).toEqual(['temporary', 'news/Subscriptions/all', 'news']);
  });
});
