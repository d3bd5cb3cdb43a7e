import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hubEvents } from './hub-event.test.fixture.js';
import { Watermark } from './watermark.js';

describe('the watermark', () => {
  it('never passes an event that is not finished, whatever the order, and reaches the last one', () => {
    fc.assert(
      fc.property(
        fc.shuffledSubarray([...Array(40).keys()], { minLength: 40 }),
        fc.integer({ min: 1, max: 7 }),
        (order, size) => {
          const watermark = new Watermark();
          const events = hubEvents(10, 49);
          for (const event of events) watermark.received(event);
          const finished = new Set<number>();
          for (let at = 0; at < order.length; at += size) {
            const batch = order.slice(at, at + size).flatMap((index) => events[index] ?? []);
            watermark.finish(batch);
            for (const { sequenceNumber } of batch) finished.add(sequenceNumber);
            const reached = watermark.reached?.sequenceNumber ?? 9;
            for (let number = 10; number <= reached; number += 1) expect(finished.has(number)).toBe(true);
            expect(finished.has(reached + 1)).toBe(false);
          }
          expect(watermark.reached).toEqual({ sequenceNumber: 49, offset: '4900' });
        },
      ),
    );
  });

  it('keeps nothing of what is finished', () => {
    const watermark = new Watermark();
    for (let from = 0; from < 50_000; from += 100) {
      const events = hubEvents(from, from + 99);
      for (const event of events) watermark.received(event);
      watermark.finish(events);
    }
    expect(watermark.reached?.sequenceNumber).toBe(49_999);
  });
});
