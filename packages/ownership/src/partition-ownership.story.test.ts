import type { Database } from '@drover/database';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { systemClock, type Clock } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { allPartitions, partitionCount } from './partitions.js';
import {
  createOwnershipTables,
  openReplica,
  type OpenedReplica,
  type OpenReplicaOptions,
} from './testing/open-replica.js';
import { describeOwnership } from './testing/ownership-contract.js';

let test: TestDatabase;
let database: Database;
let opened: OpenedReplica[];

beforeEach(async () => {
  opened = [];
  test = await createTestDatabase();
  database = await test.connect();
  await createOwnershipTables(database);
});
afterEach(async () => {
  await Promise.all(opened.map(({ ownership }) => ownership.stop()));
  await test.drop();
});

const never = new AbortController().signal;

function make(options: OpenReplicaOptions = {}): OpenedReplica {
  const one = openReplica(database, options);
  opened.push(one);
  return one;
}

async function open(options: OpenReplicaOptions = {}): Promise<OpenedReplica> {
  const one = make(options);
  await one.start();
  return one;
}

const sharesOf = (...some: readonly OpenedReplica[]): number[] =>
  some.map((each) => each.owned().length).toSorted((a, b) => a - b);

/** Every replica locates every partition at its owner. */
function expectAgreement(...some: readonly OpenedReplica[]): void {
  for (const each of some) {
    for (const partition of allPartitions) {
      const location = each.ownership.locate(partition);
      const owner = location.kind === 'remote' ? some.find(({ id }) => id === location.replicaId) : each;
      expect(owner?.owned()).toContain(partition);
    }
  }
}

async function rows(): Promise<readonly { holder: string | null; token: number }[]> {
  return database.query('select holder, token from drover.execution_homes order by partition');
}

describeOwnership('PartitionOwnership', () => openReplica(database).ownership);

describe('PartitionOwnership', () => {
  it('gives a lone replica every partition, and serves them once it has recovered', async () => {
    expect((await rows()).length).toBe(partitionCount);
    const one = make();
    let recovered = (): void => undefined;
    one.listener.onAcquired = () => new Promise((resolve) => (recovered = resolve));
    const started = one.start();
    await eventually(() => expect(one.listener.calls).toEqual([`acquired ${allPartitions.join(' ')}`]));
    expect([one.ownership.locate(3).kind, one.ownership.tokenOf(3)]).toEqual(['moving', 1]);
    const settled = one.ownership.waitForOwner(3, 10_000);
    expect(await one.ownership.waitForOwner(3, 20)).toEqual({ kind: 'moving' });
    recovered();
    expect(await settled).toEqual({ kind: 'local' });
    await started;
    expect(one.owned()).toEqual(allPartitions);
  });

  it('shares evenly with replicas that join, and each locates all owners', async () => {
    const one = await open();
    const two = await open();
    const three = await open();
    await eventually(() => {
      expect(sharesOf(one, two, three)).toEqual([5, 5, 6]);
      expectAgreement(one, two, three);
    });
    const remote = allPartitions
      .map((partition) => one.ownership.locate(partition))
      .find(({ kind }) => kind === 'remote');
    expect([`http://${two.id}.test`, `http://${three.id}.test`]).toContain(remote?.kind === 'remote' ? remote.url : '');
  });

  it('releases at once when it drains, and locates the new owner', async () => {
    const one = await open({ timings: { pollEveryMs: 60_000 } });
    const two = await open({ timings: { pollEveryMs: 60_000 } });
    await eventually(() => expect([one.owned().length, two.owned().length]).toEqual([8, 8]));
    const before = await rows();
    await one.ownership.drain(never);
    expect(one.owned()).toEqual([]);
    expect(one.listener.running.size).toBe(0);
    // Only a notification can be that quick: the next poll is a minute away.
    await eventually(() => expect(two.owned()).toEqual(allPartitions));
    await eventually(() => expectAgreement(two, { ...one, owned: () => two.owned() }));
    for (const [partition, { holder, token }] of (await rows()).entries()) {
      expect(holder).toBe(two.id);
      if (before[partition]?.holder === one.id) expect(token).toBeGreaterThan(before[partition]?.token ?? Infinity);
      else expect(token).toBe(before[partition]?.token);
    }
  });

  it('drains alone, and leaves no rows behind', async () => {
    const one = await open();
    await one.ownership.drain(never);
    expect(one.listener.calls.filter((line) => line.startsWith('releasing')).length).toBe(partitionCount);
    expect((await rows()).filter(({ holder }) => holder !== null)).toEqual([]);
    expect(await database.query('select id from drover.control_plane_replicas')).toEqual([]);
    expect(await one.ownership.waitForOwner(1, 10)).toEqual({ kind: 'moving' });
    const next = await open({ timings: { graceMs: 60_000 } });
    expect(next.owned()).toEqual(allPartitions);
  });

  it('finishes what runs before it releases; requests wait meanwhile', async () => {
    const one = await open();
    let finish = (): void => undefined;
    one.listener.onReleasing = ([partition]) =>
      partition === 15 ? new Promise((resolve) => (finish = resolve)) : Promise.resolve();
    const two = await open();
    await eventually(() => expect(two.owned().length).toBe(7));
    expect(one.ownership.locate(15)).toEqual({ kind: 'moving' });
    expect(one.ownership.tokenOf(15)).toBe(1);
    const settled = one.ownership.waitForOwner(15, 10_000);
    finish();
    expect(await settled).toMatchObject({ kind: 'remote', replicaId: two.id });
    await eventually(() => expect(two.owned().length).toBe(8));
  });

  it('releases everything at once when it is stopped without a drain', async () => {
    const one = await open();
    const two = await open();
    await eventually(() => expect(sharesOf(one, two)).toEqual([8, 8]));
    await one.ownership.stop();
    expect(one.listener.calls.at(-1)).toMatch(/^lost/);
    expect(one.ownership.tokenOf(0)).toBeUndefined();
    await eventually(() => expect(two.owned()).toEqual(allPartitions));
    await one.ownership.stop();
  });

  it('needs no grace for a replica that was killed at the URL where it listens itself', async () => {
    const url = 'http://127.0.0.1:7070';
    await database.query(
      `insert into drover.control_plane_replicas (id, url, expires_at) values ('killed', $1, 'infinity')`,
      [url],
    );
    await database.query(`update drover.execution_homes set holder = 'killed', token = 7`);
    const one = await open({ url, timings: { graceMs: 60_000 } });
    expect(one.owned()).toEqual(allPartitions);
    expect(one.ownership.tokenOf(0)).toBe(9);
    expect(one.seen).toContainEqual({ kind: 'ownership.replica-evicted', replicaId: 'killed' });
  });

  it('evicts a replica whose lock is free after the grace, and locates nothing there meanwhile', async () => {
    await database.query(
      `insert into drover.control_plane_replicas (id, url, expires_at) values ('silent', 'http://silent.test', 'infinity')`,
    );
    await database.query(`update drover.execution_homes set holder = 'silent', token = 7 where partition < 4`);
    const gone: string[] = [];
    const one = await open({ timings: { graceMs: 1_000, startMs: 100 }, gone: (url) => gone.push(url) });
    expect(one.ownership.locate(0)).toEqual({ kind: 'moving' });
    expect(gone).toEqual([]);
    await eventually(() => expect(one.owned()).toEqual(allPartitions));
    expect(gone).toEqual(['http://silent.test']); // requests that wait for an answer from there can be failed
  });

  it('acquires again what was taken behind its back, with a higher token', async () => {
    const one = await open();
    await database.query(`update drover.execution_homes set holder = 'thief', token = token + 1 where partition = 2`);
    await eventually(() => expect(one.listener.calls).toContain('lost 2'));
    await eventually(() => expect(one.ownership.tokenOf(2)).toBe(3));
    expect(one.ownership.tokenOf(1)).toBe(1);
  });

  it('joins again when another replica evicted it, having dropped everything', async () => {
    const one = await open();
    await database.query('update drover.execution_homes set holder = null, token = token + 1');
    await database.query('delete from drover.control_plane_replicas');
    await eventually(() => expect(one.listener.calls).toContain(`lost ${allPartitions.join(' ')}`));
    await eventually(() => expect(one.owned()).toEqual(allPartitions));
    expect(one.ownership.tokenOf(0)).toBe(3);
    expect(one.seen.filter(({ kind }) => kind === 'ownership.joined').length).toBe(2);
  });

  /** A clock that can jump ahead, as the monotonic clock of a process does that was paused. */
  function pausable(): { readonly clock: Clock; pausedMs: number } {
    const pause = {
      pausedMs: 0,
      clock: { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + pause.pausedMs },
    };
    return pause;
  }

  it('keeps what runs when it was paused past its lease and no other replica took over', async () => {
    const pause = pausable();
    const one = await open({ clock: pause.clock, timings: { ttlMs: 10_000 } });
    await database.query(`update drover.control_plane_replicas set expires_at = now() - interval '1 second'`);
    pause.pausedMs = 12_000;
    // At the first question, before any timer has fired: nothing new may start, and what runs is fenced by its token.
    expect([one.ownership.locate(5).kind, one.ownership.tokenOf(5)]).toEqual(['moving', undefined]);
    expect(one.ownership.heldTokenOf(5)).toBe(1);
    expect(one.ownership.problem()).toMatch(/lease/);
    await eventually(() => expect(one.owned()).toEqual(allPartitions));
    expect([one.ownership.tokenOf(5), one.ownership.problem()]).toEqual([1, undefined]);
    expect(one.listener.calls.slice(1)).toEqual([`resumed ${allPartitions.join(' ')}`]);
    expect(one.listener.running.size).toBe(partitionCount);
  });

  it('keeps what runs when only the clock of the database server went on', async () => {
    const one = await open({ timings: { ttlMs: 3_000 } });
    await database.query(`update drover.control_plane_replicas set expires_at = now() - interval '1 second'`);
    await eventually(() => expect(one.listener.calls).toContain(`resumed ${allPartitions.join(' ')}`));
    expect(one.listener.calls.filter((line) => line.startsWith('lost'))).toEqual([]);
    expect(one.ownership.tokenOf(5)).toBe(1);
  });

  it('drops what another replica took over while it was paused, and keeps the rest', async () => {
    const pause = pausable();
    const one = await open({ clock: pause.clock, timings: { ttlMs: 10_000, pollEveryMs: 60_000 } });
    await database.query(`update drover.execution_homes set holder = 'thief', token = token + 1 where partition = 2`);
    pause.pausedMs = 12_000;
    expect(one.ownership.tokenOf(2)).toBeUndefined();
    await eventually(() => expect(one.listener.calls).toContain('lost 2'));
    await eventually(() => expect(one.ownership.tokenOf(3)).toBe(1));
    expect(one.listener.calls).toContain(`resumed ${allPartitions.filter((each) => each !== 2).join(' ')}`);
    await eventually(() => expect(one.ownership.tokenOf(2)).toBe(3));
  });

  it('is not ready before every partition was recovered', async () => {
    const one = make({ timings: { startMs: 50 } });
    let recovered = (): void => undefined;
    one.listener.onAcquired = () => new Promise((resolve) => (recovered = resolve));
    await one.start();
    expect(one.ownership.problem()).toBe('the queues of 16 of 16 partitions are being recovered');
    recovered();
    await eventually(() => expect(one.ownership.problem()).toBeUndefined());
  });

  it('polls at once when an owner could not be reached', async () => {
    const one = await open({ timings: { pollEveryMs: 60_000 } });
    await database.query(`update drover.execution_homes set holder = 'thief', token = token + 1 where partition = 2`);
    for (let call = 0; call < 100; call += 1) one.ownership.refresh();
    await eventually(() => expect(one.listener.calls).toContain('lost 2'));
  });

  it('retries when the recovery failed', async () => {
    const one = make({ timings: { startMs: 50 } });
    let failures = 2;
    one.listener.onAcquired = () => (failures-- > 0 ? Promise.reject(new Error('cannot read')) : Promise.resolve());
    await one.start();
    expect(one.ownership.locate(0).kind).toBe('moving');
    await eventually(() => expect(one.owned()).toEqual(allPartitions));
    expect(one.seen.filter(({ kind }) => kind === 'ownership.recovery-failed').length).toBe(2);
  });

  it('gives up its start when it is calls to', async () => {
    const one = make();
    one.listener.onAcquired = () => new Promise(() => undefined);
    const start = new AbortController();
    const started = one.ownership.start(start.signal);
    await eventually(() => expect(one.listener.calls.length).toBe(1));
    start.abort(new Error('enough'));
    await expect(started).rejects.toThrow('enough');
  });

  it('never has two owners of one partition while replicas come and go under load', async () => {
    const watched: OpenedReplica[] = [];
    let looks = 0;
    const twice: string[] = [];
    let watching = true;
    const watch = (): void => {
      for (const partition of allPartitions) {
        const owners = watched.filter((each) => each.ownership.locate(partition).kind === 'local');
        if (owners.length > 1) twice.push(`${partition} at ${owners.map(({ id }) => id).join(' and ')}`);
        looks += 1;
      }
      if (watching) setImmediate(watch);
    };
    const join = async (): Promise<void> => {
      const one = make({ timings: { pollEveryMs: 100 } });
      one.listener.onAcquired = (partitions) => {
        for (const each of watched)
          for (const partition of partitions)
            if (each !== one && each.listener.running.has(partition)) twice.push(`${partition} acquired too early`);
        return new Promise((resolve) => setImmediate(resolve));
      };
      watched.push(one);
      await one.start();
    };
    watch();
    await Promise.all([join(), join(), join()]);
    for (let round = 0; round < 8; round += 1) {
      await join();
      if (round % 2 === 1) await join();
      await watched.splice(round % watched.length, 1)[0]?.ownership.drain(never);
    }
    await eventually(() => expectAgreement(...watched));
    watching = false;
    expect(twice).toEqual([]);
    expect(looks).toBeGreaterThan(1_000);
    expect(watched.flatMap(({ listener }) => listener.calls.filter((line) => line.startsWith('lost')))).toEqual([]);
  });
});
