import { databaseMigrations, type Database } from '@drover/database';
import { createTestDatabase, quietIo, type TestDatabase } from '@drover/database/testing';
import { Child, eventually } from '@drover/testkit';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scaleControllerMigrations } from '../desired-state/scale-controller-migrations.js';
import { Leadership, type LeaderTerm } from './leadership.js';

const program = fileURLToPath(new URL('../../dist/leadership/testing/leader-process.js', import.meta.url));

let test: TestDatabase;
let database: Database;
const ends: (() => Promise<void>)[] = [];

beforeEach(async () => {
  test = await createTestDatabase([databaseMigrations, scaleControllerMigrations]);
  database = await test.connect();
});

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
  await test.drop();
});

interface Candidate {
  readonly leadership: Leadership;
  readonly terms: LeaderTerm[];
  readonly deposed: string[];
}

async function candidate(holderId: string, ttlMs = 3_000): Promise<Candidate> {
  const terms: LeaderTerm[] = [];
  const deposed: string[] = [];
  const leadership = new Leadership({
    database,
    holderId,
    ttlMs,
    onElected: (term) => void terms.push(term),
    onDeposed: (reason) => void deposed.push(reason),
    ...quietIo,
    observe: () => undefined,
  });
  await leadership.start();
  ends.push(() => leadership.stop());
  return { leadership, terms, deposed };
}

function leaderProcess(holderId: string): Child {
  const settings = JSON.stringify({ url: test.url.reveal(), holderId, ttlMs: 3_000 });
  const child = new Child(process.execPath, [program, settings], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  ends.push(() => child.end());
  return child;
}

const events = (child: Child): { event: string; token?: number; code?: string }[] =>
  child.stdout.map((line) => JSON.parse(line) as { event: string });

describe('leadership', () => {
  it('has one leader among several candidates, and a higher token for each term', async () => {
    const candidates = await Promise.all(['a', 'b', 'c'].map((id) => candidate(id)));
    const leaders = (): Candidate[] => candidates.filter(({ leadership }) => leadership.isLeader);
    await eventually(() => leaders().length === 1);
    const [first] = leaders();
    await first?.leadership.stop();
    await eventually(() => leaders().length === 1);
    const tokens = candidates.flatMap(({ terms }) => terms.map(({ token }) => token));
    expect(new Set(tokens).size).toBe(tokens.length);
    expect(first?.deposed).toEqual(['the process stops']);
    expect(first?.terms[0]?.isHeld()).toBe(false);
  });

  it('passes at once from a process that was killed', async () => {
    const killed = leaderProcess('killed');
    await eventually(() => events(killed).some(({ event }) => event === 'written'));
    const next = await candidate('next');
    killed.kill('SIGKILL');
    await eventually(() => next.leadership.isLeader);
    expect(next.terms.map(({ token }) => token)).toEqual([2]);
  });

  it('passes from a process that is paused, whose writes are refused when it goes on', async () => {
    const paused = leaderProcess('paused');
    await eventually(() => events(paused).some(({ event }) => event === 'written'));
    const next = await candidate('next');
    paused.kill('SIGSTOP');
    await eventually(() => next.leadership.isLeader);
    paused.kill('SIGCONT');
    await eventually(() => events(paused).some(({ event }) => event === 'refused'));
    expect(events(paused)).toContainEqual({ event: 'refused', token: 1, code: 'SCALE_LEADERSHIP_LOST' });
    expect(next.leadership.isLeader).toBe(true);
  });

  it('ends when the lease cannot be renewed, before another one can lead', async () => {
    const leader = await candidate('leader', 600);
    await eventually(() => leader.leadership.isLeader);
    // Another holder in the row: as after a takeover that this process has not noticed.
    await database.query(`update drover.scale_leader set holder = 'other', token = token + 1`);
    await eventually(() => leader.deposed.length === 1);
    expect(leader.terms[0]?.isHeld()).toBe(false);
  });
});
