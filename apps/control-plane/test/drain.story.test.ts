import type { Database } from '@drover/database';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { eventually } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { controlPlaneSchema } from '../src/schema.js';
import { startControlPlane, type RunningControlPlane } from './support/control-plane.js';
import { get, parseAnswer, RawConnection } from './support/raw-http.js';
import { leavesNoSecretBehind } from './support/secrets.js';
import { storeKey } from './support/stored-keys.js';

let test: TestDatabase;
let database: Database;
let plane: RunningControlPlane;

leavesNoSecretBehind();
beforeEach(async () => {
  test = await createTestDatabase(controlPlaneSchema);
  plane = await startControlPlane(test.url);
  database = await test.connect();
});
afterEach(async () => {
  await plane?.stop();
  await test.drop();
});

/** Whoever asks for keys waits from now on; the returned function lets them go on. */
async function holdKeys(): Promise<() => Promise<void>> {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  let locked = (): void => undefined;
  const isLocked = new Promise<void>((resolve) => (locked = resolve));
  const transaction = database.transaction(async (tx) => {
    await tx.query('lock table drover.api_keys in access exclusive mode');
    locked();
    await held;
  });
  await isLocked;
  return () => {
    release();
    return transaction;
  };
}

/** The request has reached the table and waits there. */
const waitsForKeys = (): Promise<void> =>
  eventually(async () => {
    const waiting = await database.query(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    expect(waiting).toHaveLength(1);
  });

/** As a client that would like to keep its connection. */
const keptAlive = (path: string, key: string): string =>
  `GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n\r\n`;

async function isRefused(url: string): Promise<boolean> {
  return RawConnection.open(url).then(
    async (connection) => {
      await connection.close();
      return false;
    },
    () => true,
  );
}

describe('draining', () => {
  it('lets the request in flight finish, while new connections are refused', async () => {
    const release = await holdKeys();
    const connection = await RawConnection.open(plane.url);
    connection.send(keptAlive('/control/keys', plane.adminKey));
    await waitsForKeys();
    let drained = false;
    const drain = plane.drain().then(() => (drained = true));
    await eventually(() => isRefused(plane.url));
    expect(connection.received).toBe('');
    expect(drained).toBe(false);
    await release();
    await drain;
    await connection.ended;
    expect(parseAnswer(connection.received)).toMatchObject({ status: 200, body: { keys: [expect.anything()] } });
  });

  it('ends with the last request, not when its idle connection times out', async () => {
    const release = await holdKeys();
    const connection = await RawConnection.open(plane.url);
    connection.send(keptAlive('/control/keys', plane.adminKey));
    await waitsForKeys();
    const drain = plane.drain();
    await release();
    await drain;
    await eventually(() => connection.closed);
    expect(parseAnswer(connection.received).headers.get('connection')).toBe('close');
  });

  it('does not wait for connections without a request: idle, silent, or in the middle of a header', async () => {
    const [idle, silent, half] = [
      await RawConnection.open(plane.url),
      await RawConnection.open(plane.url),
      await RawConnection.open(plane.url),
    ];
    idle.send(keptAlive('/healthz', plane.adminKey));
    half.send('GET /healthz HTTP/1.1\r\nhos');
    await eventually(() => idle.received.includes('200 OK'));
    await plane.drain();
    await eventually(() => expect([idle.closed, silent.closed, half.closed]).toEqual([true, true, true]));
  });

  it('cuts what is left at its deadline', async () => {
    const release = await holdKeys();
    const connection = await RawConnection.open(plane.url);
    connection.send(keptAlive('/control/keys', plane.adminKey));
    await waitsForKeys();
    await plane.drain(300);
    await eventually(() => connection.closed);
    expect(connection.received).toBe('');
    await release();
  });

  it('cuts everything at once when its deadline has passed before it began', async () => {
    const release = await holdKeys();
    const connection = await RawConnection.open(plane.url);
    connection.send(keptAlive('/control/keys', plane.adminKey));
    await waitsForKeys();
    await plane.drain(0);
    await eventually(() => connection.closed);
    expect(connection.received).toBe('');
    await release();
  });

  it('is seen before it begins: readiness turns red while requests are still served', async () => {
    const kept = await RawConnection.open(plane.url);
    plane.health.move('draining');
    const ready = await plane.request('/readyz');
    expect(ready).toMatchObject({ status: 503, body: { status: 'draining', problems: {} } });
    expect((await plane.request('/healthz')).status).toBe(200);
    expect((await plane.request('/control/whoami', { key: plane.adminKey })).status).toBe(200);
    await kept.send(get('/readyz')).ended;
    expect(parseAnswer(kept.received).status).toBe(503);
  });

  it('notes the last use of keys on the way out', async () => {
    const key = await storeKey(database);
    await plane.client(key).getCaller();
    await plane.drain();
    await plane.stop();
    const used = await database.query(`select id from drover.api_keys where last_used_at is not null`);
    expect(used).toHaveLength(1);
  });
});

describe('stopping without a drain', () => {
  it('cuts a request in flight and lets go of everything', async () => {
    const release = await holdKeys();
    const connection = await RawConnection.open(plane.url);
    connection.send(keptAlive('/control/keys', plane.adminKey));
    await waitsForKeys();
    const stopped = plane.stop();
    await eventually(() => connection.closed);
    await release();
    await stopped;
    const left = await database.query(
      `select 1 from pg_stat_activity where datname = current_database() and application_name like 'drover %'`,
    );
    expect(left).toEqual([]);
  });
});
