import { describe, expect, it } from 'vitest';
import { hubBacklog, type PartitionState } from './measure-event-hub.js';

const state = (partitionId: string, last: number, over: Partial<PartitionState> = {}): PartitionState => ({
  partitionId,
  ends: { first: 0, last, lastOffset: '', lastEnqueuedAtMs: 4_000 },
  checkpoint: undefined,
  finished: undefined,
  delivered: undefined,
  oldestAtMs: undefined,
  ...over,
});
const at = (sequenceNumber: number) => ({
  partitionId: '0',
  sequenceNumber,
  offset: '',
  hubCreatedAtMs: undefined,
  version: '1',
});
const measure = (...partitions: PartitionState[]) => {
  const sample = { atMs: 0, last: new Map() };
  return hubBacklog(partitions, { kind: 'start' }, { nowMs: 10_000, before: undefined, sample });
};

describe('the backlog of an event hub', () => {
  it('is the distance from the checkpoint to the end, by partition', () => {
    expect(measure(state('0', 99, { checkpoint: at(89) }), state('1', 4), state('2', -1))).toEqual({
      waiting: 15,
      oldestAgeMs: undefined,
      lagByPartition: { 0: 10, 1: 5, 2: 0 },
      maxUsefulWorkers: 3,
    });
  });

  it('is nothing when the checkpoint is ahead of the end, which may be older', () => {
    expect(measure(state('0', 99, { checkpoint: at(120) }))).toEqual({
      waiting: 0,
      oldestAgeMs: undefined,
      lagByPartition: { 0: 0 },
      maxUsefulWorkers: 1,
    });
  });

  it('does not wait for what runs here, but that is not processed yet', () => {
    const running = state('0', 99, { checkpoint: at(10), finished: 49, delivered: 89, oldestAtMs: 3_000 });
    expect(measure(running)).toMatchObject({ waiting: 10, oldestAgeMs: 7_000, lagByPartition: { 0: 50 } });
  });

  it('does not count events that are no longer stored, nor those before an initial end', () => {
    const trimmed = { ...state('0', 99).ends, first: 60 };
    expect(measure(state('0', 99, { ends: trimmed })).waiting).toBe(40);
    const sample = { atMs: 0, last: new Map() };
    const fresh = hubBacklog([state('0', 99)], { kind: 'end' }, { nowMs: 0, before: undefined, sample });
    expect(fresh.waiting).toBe(0);
  });

  it('knows the age of a single event of another runtime', () => {
    expect(measure(state('0', 99, { checkpoint: at(98) })).oldestAgeMs).toBe(6_000);
  });

  it('has an arrival rate from the second measurement on', () => {
    const before = { atMs: 1_000, last: new Map([['0', 10]]) };
    const sample = { atMs: 3_000, last: new Map([['0', 50]]) };
    const times = { nowMs: 0, before, sample };
    expect(hubBacklog([], { kind: 'start' }, times).arrivalsPerSecond).toBe(20);
  });
});
