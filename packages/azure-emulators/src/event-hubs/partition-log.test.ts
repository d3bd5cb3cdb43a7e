import fc from 'fast-check';
import rhea from 'rhea';
import { describe, expect, it } from 'vitest';
import { encodeString } from '../amqp/amqp-bytes.js';
import { LogReader, PartitionLog } from './partition-log.js';
import type { IncomingEvent } from './stored-events.js';

/** An event whose bare message is one amqp-value section. */
function valueEvent(text: string): IncomingEvent {
  return { bare: Buffer.concat([Buffer.from([0x00, 0x53, 0x77]), encodeString(text)]), annotations: [] };
}

function readAll(log: PartitionLog, from: number): string[] {
  const reader = new LogReader(log, from);
  const bodies: string[] = [];
  for (let next = reader.next(); next; next = reader.next()) bodies.push(rhea.message.decode(next).body);
  return bodies;
}

function logOf(batches: readonly (readonly string[])[], stepMs = 10): PartitionLog {
  const log = new PartitionLog();
  for (const [index, texts] of batches.entries()) {
    log.append(texts.map(valueEvent), undefined, 1000 + index * stepMs);
    log.commit();
  }
  return log;
}

describe('PartitionLog', () => {
  it('numbers events from 0 and gives each an offset that leads back to it', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.string(), { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 20 }),
        (batches) => {
          const log = logOf(batches);
          const texts = batches.flat();
          const reader = new LogReader(log, 0);
          for (const [sequence, text] of texts.entries()) {
            const decoded = rhea.message.decode(reader.next() ?? Buffer.alloc(0));
            expect(decoded.body).toBe(text);
            expect(decoded.message_annotations['x-opt-sequence-number']).toBe(sequence);
            const offset = Number(decoded.message_annotations['x-opt-offset']);
            expect(log.locate({ kind: 'offset', value: offset, isInclusive: true })).toBe(sequence);
            expect(log.locate({ kind: 'offset', value: offset, isInclusive: false })).toBe(sequence + 1);
          }
          expect(reader.next()).toBeUndefined();
          expect(log.lastEnqueued?.sequence).toBe(texts.length - 1);
        },
      ),
    );
  });

  it('delivers the partition key and the annotations of the producer', () => {
    const log = new PartitionLog();
    const annotations = [Buffer.from([0xa3, 4, ...Buffer.from('mine')]), encodeString('x')];
    log.append([{ ...valueEvent('a'), annotations }], encodeString('key'), 5);
    log.commit();
    const decoded = rhea.message.decode(new LogReader(log, 0).next() ?? Buffer.alloc(0));
    expect(decoded.message_annotations).toMatchObject({ 'x-opt-partition-key': 'key', mine: 'x' });
    expect(decoded.message_annotations['x-opt-enqueued-time']).toEqual(new Date(5));
  });

  it('shows events only when they are committed', () => {
    const log = new PartitionLog();
    log.append([valueEvent('a')], undefined, 0);
    expect(readAll(log, 0)).toEqual([]);
    expect(log.lastEnqueued).toBeUndefined();
    log.append([valueEvent('b')], undefined, 0);
    expect(log.commit(1)).toBe(true);
    expect(readAll(log, 0)).toEqual(['a']);
    expect(log.commit(1)).toBe(false);
    log.commit();
    expect(readAll(log, 0)).toEqual(['a', 'b']);
  });

  it('is read from a time that is still to come', () => {
    const log = new PartitionLog();
    log.append([valueEvent('before')], undefined, 1000);
    log.commit();
    const reader = new LogReader(log, log.locate({ kind: 'enqueuedTime', afterMs: 5000 }), 5000);
    for (const [text, atMs] of [
      ['too early', 4000],
      ['at the time', 5000],
      ['after it', 5001],
    ] as const) {
      log.append([valueEvent(text)], undefined, atMs);
      log.commit();
    }
    expect(rhea.message.decode(reader.next() ?? Buffer.alloc(0)).body).toBe('after it');
    expect(reader.next()).toBeUndefined();
  });

  it('finds positions by time, sequence number, start and end', () => {
    const log = logOf([['a', 'b'], ['c'], ['d']]);
    expect(readAll(log, log.locate({ kind: 'earliest' }))).toEqual(['a', 'b', 'c', 'd']);
    expect(readAll(log, log.locate({ kind: 'latest' }))).toEqual([]);
    expect(readAll(log, log.locate({ kind: 'enqueuedTime', afterMs: 1000 }))).toEqual(['c', 'd']);
    expect(readAll(log, log.locate({ kind: 'enqueuedTime', afterMs: 5000 }))).toEqual([]);
    expect(readAll(log, log.locate({ kind: 'sequenceNumber', value: 1, isInclusive: true }))).toEqual(['b', 'c', 'd']);
    expect(readAll(log, log.locate({ kind: 'sequenceNumber', value: 1, isInclusive: false }))).toEqual(['c', 'd']);
    expect(readAll(log, log.locate({ kind: 'sequenceNumber', value: 3, isInclusive: false }))).toEqual([]);
  });

  it('reads from the beginning when a position belongs to an earlier life of the hub', () => {
    const log = logOf([['a'], ['b']]);
    expect(log.locate({ kind: 'sequenceNumber', value: 500, isInclusive: false })).toBe(0);
    expect(log.locate({ kind: 'offset', value: 1_000_000, isInclusive: false })).toBe(0);
  });

  it('retains by count, bytes and age, and readers skip what is gone', () => {
    const log = logOf([['a', 'b'], ['c'], ['d'], ['e']]);
    const reader = new LogReader(log, 0);
    log.trim({ maxEvents: 3 }, 0);
    expect(log.eventCount).toBe(3);
    expect(rhea.message.decode(reader.next() ?? Buffer.alloc(0)).body).toBe('c');
    log.trim({ maxAgeMs: 10 }, 1035);
    expect(readAll(log, 0)).toEqual(['e']);
    const before = log.bytes;
    expect(log.trim({ maxBytes: 1 }, 0)).toBe(0); // the last event always stays
    expect(log.bytes).toBe(before);
    expect(log.purge()).toBe(1);
    expect(log.bytes).toBe(0);
    expect(log.isEmpty).toBe(true);
    expect(log.lastEnqueued?.sequence).toBe(4);
    log.append([valueEvent('f')], undefined, 2000);
    log.commit();
    expect(log.beginSequence).toBe(5);
    expect(readAll(log, 0)).toEqual(['f']);
  });

  it('accounts for every byte over many trims', () => {
    const log = new PartitionLog();
    for (let i = 0; i < 5000; i += 1) {
      log.append([valueEvent(`event ${i}`)], undefined, i);
      log.commit();
      log.trim({ maxEvents: 100 }, i);
    }
    expect(readAll(log, 0)).toEqual(Array.from({ length: 100 }, (_, i) => `event ${4900 + i}`));
    log.purge();
    expect(log.bytes).toBe(0);
  });
});
