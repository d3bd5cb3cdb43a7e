import { sleep } from '@drover/service-kit';
import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import type { RecordDatabase } from '../request/record-operation.js';
import { WriteAhead } from './write-ahead.js';

/** A database that notes what becomes of its transactions. */
function arrange() {
  const log: string[] = [];
  const clock = new FakeClock();
  const database: RecordDatabase = {
    query: () => Promise.resolve([]),
    transaction: async (work) => {
      try {
        const result = await work({ query: () => Promise.resolve([]), afterCommit: () => undefined });
        log.push('commit');
        return result;
      } catch (error) {
        log.push('rollback');
        throw error;
      }
    },
  };
  const write = () => Promise.resolve(log.push('write'));
  return { log, clock, database, write, ahead: new WriteAhead(database, clock) };
}

function arrangeTurn() {
  let come = (): void => undefined;
  let fail: (error: Error) => void = () => undefined;
  const turn = new Promise<void>((resolve, reject) => {
    come = resolve;
    fail = reject;
  });
  return { turn, come, fail };
}

describe('a batch ahead of its turn', () => {
  it('is written at once and committed when its turn comes', async () => {
    const { log, clock, write, ahead } = arrange();
    const { turn, come } = arrangeTurn();
    const written = ahead.run(turn, write);
    await clock.advance(499);
    expect(log).toEqual(['write']);
    come();
    expect(await written).toBe(1);
    expect(log).toEqual(['write', 'commit']);
  });

  it('waits twice as long for its turn as its statement took', async () => {
    const { log, clock, write, ahead } = arrange();
    const { turn, come } = arrangeTurn();
    const written = ahead.run(turn, () => sleep(clock, 1_000).then(write));
    await clock.advance(2_999);
    come();
    expect(await written).toBe(1);
    expect(log).toEqual(['write', 'commit']);
  });

  it('is rolled back if the batch before it fails', async () => {
    const { log, write, ahead } = arrange();
    const { turn, fail } = arrangeTurn();
    const written = ahead.run(turn, write);
    fail(new Error('The batch before failed.'));
    await expect(written).rejects.toThrow('The batch before failed.');
    expect(log).toEqual(['write', 'rollback']);
  });

  it('is rolled back if its turn does not come in time, and the next twenty are not tried', async () => {
    const { log, clock, write, ahead } = arrange();
    const { turn, come } = arrangeTurn();
    const late = ahead.run(turn, write);
    await clock.advance(500);
    expect(await late).toBeUndefined();
    come();
    await turn;
    for (let n = 0; n < 20; n += 1) expect(await ahead.run(Promise.resolve(), write)).toBeUndefined();
    expect(log).toEqual(['write', 'rollback']);
    expect(await ahead.run(Promise.resolve(), write)).toBe(3);
  });

  it('is the only one of all imports of a database, until its turn comes', async () => {
    const { clock, database, write, ahead } = arrange();
    const { turn, come } = arrangeTurn();
    const first = ahead.run(turn, write);
    const caller: RecordDatabase = { ...database, shared: database };
    const other = new WriteAhead(caller, clock);
    expect(await other.run(Promise.resolve(), write)).toBeUndefined();
    come();
    await first;
    expect(await other.run(Promise.resolve(), write)).toBe(3);
  });
});
