import { fileURLToPath } from 'node:url';
import type { Database } from '@drover/database';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { Child, eventually } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OwnershipTimings } from './ownership-timings.js';
import { makeLedger, violationsIn } from './testing/fenced-ledger.js';
import type { ReplicaProcessSettings } from './testing/replica-process.js';
import { createOwnershipTables } from './testing/open-replica.js';

const program = fileURLToPath(new URL('../dist/testing/replica-process.js', import.meta.url));

let test: TestDatabase;
let database: Database;
let children: Child[];

beforeEach(async () => {
  children = [];
  test = await createTestDatabase();
  database = await test.connect();
  await createOwnershipTables(database);
  await makeLedger(database);
});
afterEach(async () => {
  await Promise.all(children.map((child) => child.end()));
  await test.drop();
});

interface Line {
  readonly event: string;
  readonly partitions?: readonly number[];
  readonly partition?: number;
}

class Replica {
  readonly id: string;
  readonly child: Child;

  constructor(id: string, timings: Partial<OwnershipTimings>) {
    this.id = id;
    const settings: ReplicaProcessSettings = { url: test.url.reveal(), replicaId: id, timings };
    this.child = new Child(process.execPath, [program, JSON.stringify(settings)], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    children.push(this.child);
  }

  get lines(): readonly Line[] {
    return this.child.stdout.map((line) => JSON.parse(line) as Line); // the fixture prints nothing else
  }

  count(event: string): number {
    return this.lines.filter((line) => line.event === event).length;
  }
}

async function start(id: string, timings: Partial<OwnershipTimings> = {}): Promise<Replica> {
  const replica = new Replica(id, timings);
  await replica.child.line(/"ready"/);
  return replica;
}

/** Number of partitions per owner, by the rows. */
async function shares(): Promise<Record<string, number>> {
  const rows = await database.query<{ holder: string | null; partitions: number }>(
    'select holder, count(*) as partitions from drover.execution_homes group by holder',
  );
  return Object.fromEntries(rows.map(({ holder, partitions }) => [holder ?? 'none', partitions]));
}

async function writersSince(number: number): Promise<readonly string[]> {
  const rows = await database.query<{ replica: string }>(
    'select distinct replica from drover.fenced_ledger where number > $1 order by replica',
    [number],
  );
  return rows.map(({ replica }) => replica);
}

async function ledgerEnd(): Promise<number> {
  const [row] = await database.query<{ number: number }>(
    'select coalesce(max(number), 0) as number from drover.fenced_ledger',
  );
  return row?.number ?? 0;
}

describe('replicas that are processes', () => {
  it('share; the others replace a killed one long before its lease expires', async () => {
    for (const id of ['a', 'b', 'c']) await start(id, { ttlMs: 60_000 });
    await eventually(async () => expect(Object.values(await shares()).toSorted((x, y) => x - y)).toEqual([5, 5, 6]));
    const victim = children[1];
    victim?.kill('SIGKILL');
    await eventually(async () => expect(await shares()).toEqual({ a: 8, c: 8 }));
    const end = await ledgerEnd();
    await eventually(async () => expect(await writersSince(end)).toEqual(['a', 'c']));
    expect(await violationsIn(database)).toEqual([]);
  });

  it('a lone one that was killed owns everything soon after its restart', async () => {
    const first = await start('first');
    first.child.kill('SIGKILL');
    await first.child.exited;
    await start('second');
    expect(await shares()).toEqual({ second: 16 });
  });

  it('one that was frozen past its lease notices before it writes, and late writes are refused', async () => {
    const timings = { ttlMs: 1_500, pollEveryMs: 200 };
    const frozen = await start('frozen', timings);
    const others = [await start('x', timings), await start('y', timings)];
    await eventually(async () => expect(Object.keys(await shares()).toSorted()).toEqual(['frozen', 'x', 'y']));
    const acquired = (): number => others.reduce((sum, other) => sum + other.count('acquired'), 0);
    const before = acquired();
    frozen.child.kill('SIGSTOP');
    await eventually(async () => expect(await shares()).toEqual({ x: 8, y: 8 }));
    await eventually(() => expect(acquired()).toBeGreaterThan(before));
    const end = await ledgerEnd();
    frozen.child.kill('SIGCONT');
    await eventually(() => expect(frozen.count('lost')).toBeGreaterThan(0));
    await eventually(() => expect(frozen.count('refused')).toBeGreaterThanOrEqual(5));
    expect(frozen.count('written-late')).toBe(0);
    // It joins again and gets its share.
    await eventually(async () => expect(Object.keys(await shares()).toSorted()).toEqual(['frozen', 'x', 'y']));
    await eventually(async () => expect(await writersSince(end)).toContain('frozen'));
    expect(await violationsIn(database)).toEqual([]);
  });

  it('one that drains releases at once, and nothing is lost', async () => {
    const leaver = await start('leaver');
    await start('heir');
    await eventually(async () => expect(await shares()).toEqual({ heir: 8, leaver: 8 }));
    leaver.child.kill('SIGTERM');
    await leaver.child.line(/"ended"/);
    expect(await leaver.child.exited).toEqual({ code: 0, signal: null });
    await eventually(async () => expect(await shares()).toEqual({ heir: 16 }));
    expect(leaver.count('lost')).toBe(0);
    expect(await violationsIn(database)).toEqual([]);
  });

  it('keep one writer per token while they are killed, frozen and started at random', async () => {
    const timings = { ttlMs: 1_200, pollEveryMs: 150, graceMs: 300 };
    const alive: Replica[] = [];
    for (const id of ['r0', 'r1', 'r2']) alive.push(await start(id, timings));
    for (let round = 3; round < 9; round += 1) {
      const [victim] = alive.splice(0, 1);
      if (!victim) return expect.unreachable();
      if (round % 2 === 0) victim.child.kill('SIGKILL');
      else {
        victim.child.kill('SIGSTOP');
        await eventually(async () => expect(await shares()).not.toHaveProperty(victim.id));
        victim.child.kill('SIGCONT');
        alive.push(victim);
      }
      if (alive.length < 3) alive.push(await start(`r${round}`, timings));
    }
    await eventually(async () => {
      const found = await shares();
      expect(Object.keys(found).toSorted()).toEqual(alive.map(({ id }) => id).toSorted());
      expect(Math.max(...Object.values(found)) - Math.min(...Object.values(found))).toBeLessThanOrEqual(1);
    });
    const end = await ledgerEnd();
    await eventually(async () => expect(await writersSince(end)).toEqual(alive.map(({ id }) => id).toSorted()));
    expect(await violationsIn(database)).toEqual([]);
  });
});
