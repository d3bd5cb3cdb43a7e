import { FakeClock, seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { MemoryTriggerStore } from '../store/memory-trigger-store.js';
import type { CheckpointStore } from './checkpoint-store.js';
import { CheckpointWriter } from './checkpoint-writer.js';
import { RuntimeCheckpointStore } from './runtime-checkpoint-store.js';

const never = new AbortController().signal;
const at = (sequenceNumber: number) => ({ sequenceNumber, offset: String(sequenceNumber) });

function setUp(every = 1) {
  const clock = new FakeClock();
  const inner = new RuntimeCheckpointStore(new MemoryTriggerStore(), 'app', {
    host: 'h',
    hub: 'o',
    consumerGroup: 'g',
  });
  const writes: number[] = [];
  const failures: unknown[] = [];
  const faults = { hold: undefined as Promise<void> | undefined, failing: 0 };
  const store: CheckpointStore = {
    name: 'test',
    keepsLevels: true,
    claims: (signal) => inner.claims(signal),
    claim: (...call) => inner.claim(...call),
    checkpoints: (signal) => inner.checkpoints(signal),
    async checkpoint(...call) {
      await faults.hold;
      if (faults.failing-- > 0) throw new Error('down');
      writes.push(call[1].sequenceNumber);
      return await inner.checkpoint(...call);
    },
  };
  const writer = new CheckpointWriter({
    store,
    partitionId: '0',
    hubCreatedAtMs: 1,
    version: undefined,
    every,
    clock,
    randomness: seededRandomness(1),
    onWritten: () => undefined,
    onFailed: (error) => void failures.push(error),
  });
  const stored = async () => (await inner.checkpoints(never))[0]?.sequenceNumber;
  return { clock, writer, writes, failures, faults, stored, inner };
}

describe('the checkpoint writer', () => {
  it('writes after every so many batches', async () => {
    const { writer, writes, clock } = setUp(3);
    for (let batch = 1; batch <= 7; batch += 1) {
      writer.batchFinished(at(batch * 10));
      await clock.advance(100);
    }
    expect(writes).toEqual([30, 60]);
    await writer.flush();
    expect(writes).toEqual([30, 60, 70]);
    await writer.flush();
    expect(writes).toHaveLength(3);
  });

  it('writes one at a time, and then the newest position only', async () => {
    const { writer, writes, faults, stored, clock } = setUp();
    let release = (): void => undefined;
    faults.hold = new Promise((resolve) => (release = resolve));
    for (let number = 0; number < 1_000; number += 1) writer.batchFinished(at(number));
    faults.hold = undefined;
    release();
    await clock.advance(100);
    expect(writes).toEqual([0, 999]);
    expect(await stored()).toBe(999);
  });

  it('misses no batch that finishes in the very turn in which a write ends', async () => {
    for (let turns = 0; turns < 30; turns += 1) {
      const { writer, stored, clock } = setUp();
      writer.batchFinished(at(1));
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      writer.batchFinished(at(2));
      await clock.advance(100);
      expect(await stored()).toBe(2);
    }
  });

  it('rests between two writes, unless it must end', async () => {
    const { writer, writes, clock } = setUp();
    for (let number = 0; number < 50; number += 1) {
      writer.batchFinished(at(number));
      await clock.advance(10);
    }
    expect(writes.length).toBeLessThanOrEqual(6);
    writer.batchFinished(at(50));
    await writer.flush();
    expect(writes.at(-1)).toBe(50);
  });

  it('retries while the store is down, and reports it', async () => {
    const { writer, writes, faults, failures, clock } = setUp();
    faults.failing = 3;
    writer.batchFinished(at(5));
    await clock.advance(2_000);
    expect(failures).toHaveLength(3);
    expect(writes).toEqual([5]);
  });

  it('never moves the position of another runtime back, and takes its own forward', async () => {
    const { writer, inner, stored, clock } = setUp();
    await inner.checkpoint('0', { ...at(50), hubCreatedAtMs: 1 }, undefined, never);
    writer.batchFinished(at(20));
    await clock.advance(1_000);
    expect(await stored()).toBe(50);
    writer.batchFinished(at(60));
    await clock.advance(1_000);
    expect(await stored()).toBe(60);
  });

  it('writes nothing after it was stopped, and ends a flush that waits', async () => {
    const { writer, faults, clock, stored } = setUp();
    faults.failing = 1_000;
    writer.batchFinished(at(5));
    const flushed = writer.flush();
    await clock.advance(10);
    writer.stop();
    await flushed;
    writer.batchFinished(at(6));
    await clock.advance(10_000);
    expect(await stored()).toBeUndefined();
  });
});
