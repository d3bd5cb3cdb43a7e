import { databaseMigrations, type Database } from '@drover/database';
import { createTestDatabase, quietIo, type TestDatabase } from '@drover/database/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { StoredWorker } from '../placement/placement-types.js';
import { DesiredStateStore } from './desired-state-store.js';
import { DesiredStateWriter } from './desired-state-writer.js';
import { scaleControllerMigrations } from './scale-controller-migrations.js';

let test: TestDatabase;
let database: Database;
let store: DesiredStateStore;
const nothing = { workers: [], droppedWorkers: [], applications: [], droppedApplications: [], decisions: [] };

const worker = (workerId: string, versionKey?: string): StoredWorker => ({
  workerId,
  runtimeId: 'runtime-1',
  incarnation: 'first',
  endpoint: '127.0.0.1:4000',
  requestId: `request-${workerId}`,
  versionKey,
  isIsolated: false,
  startedAtMs: 1_700_000_000_123.5,
});

beforeAll(async () => {
  test = await createTestDatabase([databaseMigrations, scaleControllerMigrations]);
  database = await test.connect();
  store = new DesiredStateStore(database);
});
beforeEach(async () => {
  await database.query('truncate drover.scale_workers, drover.scale_applications, drover.scale_decisions');
  await database.query('update drover.scale_leader set token = 7');
});
afterAll(() => test.drop());

describe('the stored desired state', () => {
  it('is read as it was written, and a version stays once it was given', async () => {
    const applications = [{ application: 'a/b', desired: 3, runtimeId: 'runtime-1' }];
    await store.write(7, { ...nothing, workers: [worker('w1'), worker('w2', 'a/b:c1')], applications });
    await store.write(7, { ...nothing, workers: [worker('w1', 'a/b:c2')], droppedWorkers: ['w2'] });
    await store.write(7, { ...nothing, workers: [worker('w1')] });
    const stored = await store.read();
    expect(stored.workers).toEqual([worker('w1', 'a/b:c2')]);
    expect(stored.applications).toMatchObject(applications);
  });

  it('refuses every other token than that of the leader, and changes nothing', async () => {
    await store.write(7, { ...nothing, workers: [worker('w1')] });
    for (const token of [6, 8])
      await expect(store.write(token, { ...nothing, droppedWorkers: ['w1'] })).rejects.toMatchObject({
        code: 'SCALE_LEADERSHIP_LOST',
      });
    expect((await store.read()).workers).toHaveLength(1);
  });

  it('keeps the last 50 decisions of an application', async () => {
    for (let round = 0; round < 3; round += 1) {
      const decisions = Array.from({ length: 30 }, (_, n) => ({ application: 'a/b', atMs: n, decision: { n, round } }));
      await store.write(7, { ...nothing, decisions });
    }
    const kept = await store.decisions('a/b');
    expect(kept).toHaveLength(50);
    expect(kept[0]?.decision).toEqual({ n: 29, round: 2 });
  });
});

describe('the writer of the desired state', () => {
  const open = (token: number, fenced: string[] = []): DesiredStateWriter =>
    new DesiredStateWriter({
      store,
      token,
      onFenced: () => void fenced.push('fenced'),
      onFailed: () => undefined,
      ...quietIo,
    });

  it('is durable when it says so, and the last change of a row wins', async () => {
    const writer = open(7);
    writer.saveWorker(worker('w1'));
    writer.saveWorker(worker('w2'));
    const first = writer.flushed();
    writer.dropWorker('w1');
    await first;
    await writer.flushed();
    expect((await store.read()).workers.map(({ workerId }) => workerId)).toEqual(['w2']);
  });

  it('tells once that another leader has a newer token, and rejects what waits', async () => {
    const fenced: string[] = [];
    const writer = open(6, fenced);
    writer.saveWorker(worker('w1'));
    await expect(writer.flushed()).rejects.toMatchObject({ code: 'SCALE_LEADERSHIP_LOST' });
    expect(fenced).toEqual(['fenced']);
    expect((await store.read()).workers).toEqual([]);
  });
});
