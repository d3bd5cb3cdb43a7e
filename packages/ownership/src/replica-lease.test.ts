import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { ReplicaLease, type ReplicaLeaseOptions } from './replica-lease.js';

/** A database that answers when calls. */
class ScriptedTable {
  joins = 0;
  readonly renewals: { answer: (renewed: boolean) => void; fail: () => void }[] = [];
  automatic: boolean | undefined = true;

  join(): Promise<void> {
    this.joins += 1;
    return Promise.resolve();
  }

  renew(): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.renewals.push({ answer: resolve, fail: () => reject(new Error('away')) });
      if (this.automatic !== undefined) resolve(this.automatic);
    });
  }
}

interface Member {
  readonly clock: FakeClock;
  readonly table: ScriptedTable;
  readonly lease: ReplicaLease;
  readonly ended: number[];
  readonly causes: string[];
}

function member(): Member {
  const clock = new FakeClock();
  const table = new ScriptedTable();
  const ended: number[] = [];
  const causes: string[] = [];
  const options: ReplicaLeaseOptions = {
    table,
    url: () => 'http://me',
    ttlMs: 6_000,
    onLost: (cause) => {
      ended.push(clock.monotonicMs());
      causes.push(cause);
    },
    clock,
  };
  return { clock, table, lease: new ReplicaLease(options), ended, causes };
}

describe('ReplicaLease', () => {
  it('lasts as long as it is renewed', async () => {
    const { clock, lease, table, ended } = member();
    expect(lease.isValid).toBe(false);
    await lease.acquire();
    await clock.advance(60_000);
    expect(lease.isValid).toBe(true);
    expect(table.renewals.length).toBe(30);
    expect(ended).toEqual([]);
  });

  it('ends by its own clock, counted from before the last request that was answered', async () => {
    const { clock, lease, table, ended } = member();
    await lease.acquire();
    table.automatic = undefined;
    await clock.advance(2_000);
    await clock.advance(500);
    table.renewals[0]?.answer(true);
    await clock.advance(5_499);
    expect(lease.isValid).toBe(true);
    await clock.advance(1);
    expect(lease.isValid).toBe(false);
    expect(ended).toEqual([8_000]);
  });

  it('tells a process that got no answers from one that the database refused', async () => {
    const cutOff = member();
    await cutOff.lease.acquire();
    cutOff.table.automatic = undefined;
    await cutOff.clock.advance(6_000);
    const refused = member();
    await refused.lease.acquire();
    refused.table.automatic = false;
    await refused.clock.advance(2_000);
    expect([cutOff.causes, refused.causes]).toEqual([['cut-off'], ['in-doubt']]);
  });

  it('retries a renewal several times before it ends', async () => {
    const { clock, lease, table, ended } = member();
    await lease.acquire();
    table.automatic = undefined;
    await clock.advance(5_500);
    expect(table.renewals.length).toBe(4);
    for (const { fail } of table.renewals.slice(0, 3)) fail();
    table.renewals[3]?.answer(true);
    await clock.advance(600);
    expect(lease.isValid).toBe(true);
    expect(ended).toEqual([]);
  });

  it('ends at once when the database says so, and only once', async () => {
    const { clock, lease, table, ended } = member();
    await lease.acquire();
    table.automatic = false;
    await clock.advance(30_000);
    expect(lease.isValid).toBe(false);
    expect(ended).toEqual([2_000]);
    expect(table.renewals.length).toBe(1);
    expect(clock.pending).toBe(0);
  });

  it('is known to be over at the first question after a freeze, before any timer has fired', async () => {
    let nowMs = 0;
    const ended: string[] = [];
    const timers: (() => void)[] = [];
    const lease = new ReplicaLease({
      table: new ScriptedTable(),
      url: () => 'http://me',
      ttlMs: 6_000,
      onLost: (cause) => ended.push(`${cause} ${nowMs}`),
      clock: {
        now: () => nowMs,
        monotonicMs: () => nowMs,
        after: (_delayMs, action) => (timers.push(action), () => undefined),
      },
    });
    await lease.acquire();
    expect(lease.isValid).toBe(true);
    nowMs = 6_000;
    expect(lease.isValid).toBe(false);
    expect(ended).toEqual([]); // not in the middle of the question
    await Promise.resolve();
    expect(ended).toEqual(['in-doubt 6000']);
    for (const late of timers.slice()) late();
    expect(ended).toEqual(['in-doubt 6000']);
  });

  it('ignores the answer to a request of an earlier lease', async () => {
    const { clock, lease, table, ended } = member();
    await lease.acquire();
    table.automatic = undefined;
    await clock.advance(2_000);
    lease.revoke();
    await lease.acquire();
    table.renewals[0]?.answer(false);
    await clock.advance(1);
    expect(lease.isValid).toBe(true);
    expect(ended).toEqual([2_000]);
  });
});
