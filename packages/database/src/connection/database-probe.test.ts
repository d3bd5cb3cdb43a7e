import { FakeClock } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { databaseFull, databaseUnavailable } from '../errors.js';
import { DatabaseProbe } from './database-probe.js';

const where = { server: 'here', reason: 'so' };

describe('DatabaseProbe', () => {
  let clock: FakeClock;
  let probe: DatabaseProbe;
  /** What statements fail with. */
  let fault: { readonly query?: Error; readonly disk?: Error; readonly isFrozen?: boolean };
  let tries: number;

  beforeEach(async () => {
    clock = new FakeClock();
    fault = {};
    tries = 0;
    const settle = async (reason: Error | undefined): Promise<never[]> => {
      if (fault.isFrozen) return new Promise(() => undefined);
      if (reason) throw reason;
      return [];
    };
    const database = {
      query: () => settle(fault.query),
      transaction: () => {
        tries += 1;
        return settle(fault.query ?? fault.disk);
      },
    };
    probe = new DatabaseProbe(database as never, clock); // what it uses of one
    await probe.start();
  });
  afterEach(() => probe.stop());

  it('finds nothing wrong with a database that answers and has room', async () => {
    await clock.advance(20_000);
    expect(probe.problem()).toBeUndefined();
    expect(tries).toBe(5); // at first, and once in five seconds
  });

  it('reports a database that does not answer, and its return', async () => {
    fault = { query: databaseUnavailable(where) };
    await clock.advance(1_000);
    expect(probe.problem()).toBe('DATABASE_UNAVAILABLE');
    fault = {};
    await clock.advance(1_000);
    expect(probe.problem()).toBeUndefined();
  });

  it('reports a database that is frozen within three seconds, and its return at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      fault = { isFrozen: true };
      await clock.advance(3_000);
      expect(probe.problem()).toBe('DATABASE_UNAVAILABLE');
      await clock.advance(60_000);
      expect(tries).toBeLessThanOrEqual(1 + round); // of the disk: a transaction keeps its connection
      fault = {};
      await clock.advance(2_250);
      expect(probe.problem()).toBeUndefined();
    }
  });

  it('stops while the database is frozen', async () => {
    fault = { isFrozen: true };
    await clock.advance(1_500);
    await probe.stop();
    expect(clock.pending).toBe(0);
  });

  it('reports a full disk within five seconds, and the end of it within one', async () => {
    await clock.advance(500);
    fault = { disk: databaseFull(where) };
    await clock.advance(5_000);
    expect(probe.problem()).toMatch(/^DATABASE_FULL: the disk of the database is full/);
    fault = {};
    await clock.advance(1_000);
    expect(probe.problem()).toBeUndefined();
  });

  it('does not take another failure of that try for a full disk', async () => {
    fault = { disk: databaseUnavailable(where) };
    await clock.advance(10_000);
    expect(probe.problem()).toBeUndefined();
  });
});
