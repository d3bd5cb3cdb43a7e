import { describe, expect, it } from 'vitest';
import { describePosition, startPosition } from './start-position.js';

const ends = { first: 0, last: 99, lastOffset: '9900', lastEnqueuedAtMs: 0 };
const checkpoint = { partitionId: '0', sequenceNumber: 41, offset: '4100', hubCreatedAtMs: 5, version: '1' };
const request = { checkpoint, ends, hubCreatedAtMs: 5, initial: { kind: 'start' } } as const;

describe('the position from which a partition is read', () => {
  it('is after the checkpoint', () => {
    expect(startPosition(request)).toEqual({
      position: { kind: 'after', sequenceNumber: 41 },
      isRecreated: false,
      expired: 0,
      firstCheckpoint: undefined,
    });
  });

  it('is after the offset of a checkpoint without a number', () => {
    const old = { ...checkpoint, sequenceNumber: undefined };
    expect(startPosition({ ...request, checkpoint: old }).position).toEqual({ kind: 'after-offset', offset: '4100' });
  });

  it('counts the events that left the log before they were read', () => {
    expect(startPosition({ ...request, ends: { ...ends, first: 50 } }).expired).toBe(8);
    expect(startPosition({ ...request, ends: { ...ends, first: 42 } }).expired).toBe(0);
  });

  it('is the initial one without a checkpoint', () => {
    const none = { ...request, checkpoint: undefined };
    expect(startPosition(none).position).toEqual({ kind: 'start' });
    const initial = { kind: 'time', enqueuedAtMs: 7 } as const;
    expect(startPosition({ ...none, initial }).position).toEqual(initial);
  });

  it('is the end of now and not of later, so that a crash before the first checkpoint skips nothing', () => {
    const none = { ...request, checkpoint: undefined, initial: { kind: 'end' } } as const;
    expect(startPosition(none)).toMatchObject({
      position: { kind: 'after', sequenceNumber: 99 },
      firstCheckpoint: { sequenceNumber: 99, offset: '9900' },
    });
    expect(startPosition({ ...none, checkpoint }).position).toEqual({ kind: 'after', sequenceNumber: 41 });
  });

  it('is the initial one if the hub was deleted and created again', () => {
    expect(startPosition({ ...request, hubCreatedAtMs: 6 })).toMatchObject({
      position: { kind: 'start' },
      isRecreated: true,
    });
    // The properties of a partition may be older than a checkpoint.
    expect(startPosition({ ...request, ends: { ...ends, last: 40 } }).isRecreated).toBe(false);
    const unknown = { ...checkpoint, hubCreatedAtMs: undefined };
    expect(startPosition({ ...request, checkpoint: unknown, ends: { ...ends, last: 40 } }).isRecreated).toBe(true);
    expect(startPosition({ ...request, checkpoint: unknown }).isRecreated).toBe(false);
  });

  it('is described for the log', () => {
    expect(describePosition({ kind: 'time', enqueuedAtMs: 0 })).toBe('from 1970-01-01T00:00:00.000Z');
    expect(describePosition({ kind: 'after', sequenceNumber: 3 })).toBe('after number 3');
  });
});
