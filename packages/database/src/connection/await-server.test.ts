import { FakeClock, seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { databaseAccessDenied, databaseUnavailable } from '../errors.js';
import type { DatabaseObservation } from '../observations.js';
import { awaitServer } from './await-server.js';

const unreachable = databaseUnavailable({ server: 's', reason: 'connect ECONNREFUSED' });
const recovering = databaseUnavailable(
  { server: 's', reason: 'the database system is in recovery mode' },
  Object.assign(new Error('x'), { code: '57P03' }),
);

/** Calls `awaitServer` on a server that answers with each failure in turn, the last one for ever. */
function arrange(failures: readonly (Error | undefined)[], waitMs: number) {
  const clock = new FakeClock();
  const seen: DatabaseObservation[] = [];
  const giveUp = new AbortController();
  let calls = 0;
  const connect = async (): Promise<string> => {
    const failure = failures[Math.min(calls, failures.length - 1)];
    calls += 1;
    if (failure) throw failure;
    return 'connected';
  };
  const outcome = awaitServer(connect, {
    server: 's',
    waitMs,
    signal: giveUp.signal,
    clock,
    randomness: seededRandomness(1),
    observe: (observation) => void seen.push(observation),
  }).catch((error: unknown) => error);
  return { clock, seen, giveUp, outcome, calls: () => calls };
}

describe('awaitServer', () => {
  it('waits while the server recovers, without a limit', async () => {
    const { clock, seen, outcome } = arrange([...Array.from({ length: 500 }, () => recovering), undefined], 0);
    await clock.advance(600_000);
    expect(await outcome).toBe('connected');
    expect(seen[0]).toMatchObject({ kind: 'database.awaited', reason: 'the database system is in recovery mode' });
    expect(seen.length).toBeLessThan(100);
  });

  it('waits for a server that cannot be reached as long as it may, then rejects with the reason', async () => {
    const { clock, outcome, calls } = arrange([unreachable], 60_000);
    await clock.advance(59_000);
    const before = calls();
    expect(before).toBeGreaterThan(10);
    await clock.advance(10_000);
    expect(await outcome).toBe(unreachable);
  });

  it('rejects at once what no wait can repair', async () => {
    const denied = databaseAccessDenied({ server: 's', reason: 'password' });
    const { outcome, calls } = arrange([denied], 60_000);
    expect(await outcome).toBe(denied);
    expect(calls()).toBe(1);
  });

  it('gives up when it is asked to', async () => {
    const { clock, outcome, giveUp } = arrange([recovering], 60_000);
    await clock.advance(1_000);
    giveUp.abort(new Error('stopping'));
    expect(await outcome).toMatchObject({ message: 'stopping' });
  });
});
