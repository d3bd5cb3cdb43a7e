import { describe, expect, it } from 'vitest';
import { EventLanes, type EventBatch } from './event-lanes.js';
import { hubEvent, hubEvents } from './hub-event.test.fixture.js';

const many = { orderBy: 'partition', lanes: 1, maxBatchSize: 100, minBatchSize: 1, maxWaitMs: 60_000 } as const;
const numbers = (batch: EventBatch | undefined): number[] => batch?.events.map((event) => event.sequenceNumber) ?? [];
const add = (lanes: EventLanes, from: number, to: number, nowMs = 0): void => {
  for (const event of hubEvents(from, to)) lanes.add(event, nowMs);
};

describe('batches of a partition', () => {
  it('take what is there, at most the largest size, in order, one at a time', () => {
    const lanes = new EventLanes({ ...many, maxBatchSize: 3 });
    add(lanes, 0, 6);
    const first = lanes.take(0);
    expect(numbers(first)).toEqual([0, 1, 2]);
    expect(lanes.take(0)).toBeUndefined();
    if (first) lanes.release(first);
    expect(numbers(lanes.take(0))).toEqual([3, 4, 5]);
    expect(lanes.size).toBe(1);
  });

  it('wait for the smallest size, but not longer than allowed', () => {
    const lanes = new EventLanes({ ...many, minBatchSize: 3, maxWaitMs: 1_000 });
    add(lanes, 0, 0, 100);
    add(lanes, 1, 1, 600);
    expect(lanes.take(1_099)).toBeUndefined();
    expect(lanes.dueInMs(600)).toBe(500);
    expect(numbers(lanes.take(1_100))).toEqual([0, 1]);
    const other = new EventLanes({ ...many, minBatchSize: 3 });
    add(other, 0, 2);
    expect(numbers(other.take(0))).toEqual([0, 1, 2]);
    expect(other.dueInMs(0)).toBeUndefined();
  });

  it('know the oldest event that waits', () => {
    const lanes = new EventLanes(many);
    expect(lanes.oldestAtMs).toBeUndefined();
    add(lanes, 4, 9);
    expect(lanes.oldestAtMs).toBe(4_000);
    lanes.take(0);
    expect(lanes.oldestAtMs).toBeUndefined();
  });

  it('keep their order over thousands of events', () => {
    const lanes = new EventLanes({ ...many, maxBatchSize: 7 });
    add(lanes, 0, 4_999);
    const seen: number[] = [];
    for (let batch = lanes.take(0); batch; batch = lanes.take(0)) {
      seen.push(...numbers(batch));
      lanes.release(batch);
    }
    expect(seen).toEqual(hubEvents(0, 4_999).map((event) => event.sequenceNumber));
  });
});

describe('batches that run side by side', () => {
  it('without an order share one queue', () => {
    const lanes = new EventLanes({ ...many, orderBy: 'none', lanes: 2, maxBatchSize: 2 });
    add(lanes, 0, 5);
    expect([lanes.take(0), lanes.take(0), lanes.take(0)].map(numbers)).toEqual([[0, 1], [2, 3], []]);
  });

  it('with the order of keys never run two events of one key at a time, nor out of order', () => {
    const lanes = new EventLanes({ ...many, orderBy: 'key', lanes: 4, maxBatchSize: 2 });
    const keys = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (let n = 0; n < 600; n += 1) lanes.add(hubEvent(n, { partitionKey: keys[(n * 7) % 6] }), 0);
    const running: EventBatch[] = [];
    const seen = new Map<string, number[]>();
    let mostAtOnce = 0;
    for (let turn = 0; lanes.size > 0 || running.length > 0; turn += 1) {
      for (let batch = lanes.take(0); batch; batch = lanes.take(0)) running.push(batch);
      const inFlight = running.flatMap(({ events }) => [...new Set(events.map((event) => event.partitionKey))]);
      expect(new Set(inFlight).size).toBe(inFlight.length);
      mostAtOnce = Math.max(mostAtOnce, running.length);
      const [done] = running.splice(turn % running.length, 1);
      if (!done) throw new Error('nothing runs, although events wait');
      for (const { partitionKey = '', sequenceNumber } of done.events)
        seen.set(partitionKey, [...(seen.get(partitionKey) ?? []), sequenceNumber]);
      lanes.release(done);
    }
    expect(mostAtOnce).toBeGreaterThan(1);
    expect([...seen.values()].flat()).toHaveLength(600);
    for (const list of seen.values()) expect(list).toEqual(list.toSorted((one, other) => one - other));
  });

  it('spread events without a key', () => {
    const lanes = new EventLanes({ ...many, orderBy: 'key', lanes: 3, maxBatchSize: 1 });
    add(lanes, 0, 2);
    expect([lanes.take(0), lanes.take(0), lanes.take(0)].map(numbers)).toEqual([[0], [1], [2]]);
  });
});
