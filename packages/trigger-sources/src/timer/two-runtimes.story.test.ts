import path from 'node:path';
import { createTestDatabase, quietIo, type TestDatabase } from '@drover/database/testing';
import { Child, eventually } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeLease, parseLease } from '../store/lease-record.js';
import { openPostgresStore } from '../store/postgres-trigger-store.js';
import type { TriggerStore } from '../store/trigger-store.js';
import type { TimerAssignment } from '../testing/timer-process.js';

const never = new AbortController().signal;
const key = 'timers/app/tick';
/** Once a year: all other occurrences in these tests are written into the store. */
const yearly = '0 0 0 1 1 *';

let database: TestDatabase;
let store: TriggerStore;
let closeStore: () => Promise<void>;
const children: Child[] = [];

beforeEach(async () => {
  database = await createTestDatabase();
  ({ store, close: closeStore } = await openPostgresStore({ url: database.url, release: 'test', ...quietIo }));
});
afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.end()));
  await closeStore();
  await database.drop();
});

async function startRuntime(how: Partial<TimerAssignment> = {}): Promise<Child> {
  const assignment: TimerAssignment = {
    databaseUrl: database.url.reveal(),
    key,
    binding: { schedule: yearly },
    // Longer than a busy machine keeps a process waiting; other runtimes look every two seconds.
    leaseMs: 6_000,
    settles: 'everything',
    ...how,
  };
  const program = path.resolve(import.meta.dirname, '../../dist/testing/timer-process.js');
  const child = new Child(process.execPath, [program, JSON.stringify(assignment)], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  children.push(child);
  await child.line(/^listening$/);
  return child;
}

/** Writes a status as a runtime that has released its lease leaves it. */
async function leave(nextInMs: number): Promise<void> {
  const [next, lastUpdated] = [nextInMs, -60_000].map((ms) => new Date(Date.now() + ms).toISOString());
  const state = JSON.stringify({ schedule: `${yearly} UTC`, last: null, next, lastUpdated });
  await store.write(key, encodeLease({ holder: '', write: 'seed', state }), undefined, never);
}

async function statusOf(): Promise<{ readonly last: string | null; readonly next: string }> {
  const found = await store.read(key, never);
  return JSON.parse(parseLease(found?.value ?? '').state ?? 'null') as { last: string | null; next: string };
}

const runsOf = (child: Child): boolean[] =>
  child.stdout.flatMap((line) =>
    line.startsWith('ran ') ? [(JSON.parse(line.slice(4)) as { IsPastDue: boolean }).IsPastDue] : [],
  );

describe('one timer in two runtimes with PostgreSQL', () => {
  it('runs again, once and past due, when its runtime is killed while it runs', async () => {
    await leave(-3_600_000);
    const first = await startRuntime({ settles: 'nothing' });
    await first.line(/^holds/);
    const second = await startRuntime();
    await first.line(/^ran /);
    expect(runsOf(second)).toEqual([]);
    first.kill('SIGKILL');
    await first.exited;
    await second.line(/^ran /);
    await eventually(async () => expect((await statusOf()).last).not.toBeNull());
    expect([runsOf(first), runsOf(second)]).toEqual([[true], [true]]);
    // A third one, after another kill, finds nothing to do.
    const next = (await statusOf()).next;
    second.kill('SIGKILL');
    await second.exited;
    const third = await startRuntime();
    await third.line(/^holds/);
    expect((await statusOf()).next).toBe(next);
    expect(runsOf(third)).toEqual([]);
  });

  it('is taken over from a runtime that hangs, which then neither runs it nor overwrites its status', async () => {
    const first = await startRuntime({ leaseMs: 2_000 });
    await first.line(/^holds/);
    const second = await startRuntime({ leaseMs: 2_000 });
    first.kill('SIGSTOP');
    await second.line(/^holds/);
    const taken = await store.read(key, never);
    first.kill('SIGCONT');
    await first.line(/^lost the lease/);
    await eventually(async () => expect((await store.read(key, never))?.version).not.toBe(taken?.version));
    const holder = (value = ''): string => parseLease(value).holder;
    expect(holder((await store.read(key, never))?.value)).toBe(holder(taken?.value));
  });

  it('runs in one of three, however they start', async () => {
    await leave(-3_600_000);
    const all = await Promise.all([startRuntime(), startRuntime(), startRuntime()]);
    await eventually(async () => expect((await statusOf()).last).not.toBeNull());
    expect(all.flatMap(runsOf)).toEqual([true]);
  });
});
