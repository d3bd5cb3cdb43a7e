import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { controlPlaneSchema } from '../src/schema.js';
import { newKey, startControlPlane, type RunningControlPlane } from './support/control-plane.js';

const names = Array.from({ length: 8 }, (_, n) => `f${n}`);
const endpointUrl = 'http://127.0.0.1:9/';
const environment = { DROVER_ENDPOINT_HOSTS: '127.0.0.1', DROVER_HANDOVER_MS: '1000' };

let test: TestDatabase;
let replicas: RunningControlPlane[];
const key = newKey();
beforeAll(async () => {
  test = await createTestDatabase(controlPlaneSchema);
  replicas = [await startControlPlane(test.url, environment, key), await startControlPlane(test.url, environment, key)];
  // Both own partitions once the newer replica has got its share.
  await eventually(() => replicas.every(({ log }) => log.some(({ kind }) => kind === 'invocation.recovered')), 20_000);
});
afterAll(async () => {
  for (const replica of replicas ?? []) await replica.stop();
  await test.drop();
});

const request = (at: number, path: string, method = 'GET', json?: unknown) =>
  (replicas[at % replicas.length] as RunningControlPlane).request(path, {
    key,
    method,
    ...(json !== undefined && { json }),
  });

describe('queues of functions that two replicas share', () => {
  it('are paused, read, purged and removed through either replica, and the pause outlives the owner', async () => {
    for (const [at, name] of names.entries()) {
      await request(at, '/v1/functions', 'POST', { name, endpointUrl });
      expect(await request(at, `/v1/functions/${name}/queue:pause`, 'POST')).toMatchObject({ status: 200 });
      expect(await request(at + 1, `/v1/functions/${name}:enqueue`, 'POST', { input: 1 })).toMatchObject({
        status: 202,
      });
      for (const one of [0, 1])
        expect(await request(one, `/v1/functions/${name}/queue`)).toMatchObject({
          status: 200,
          body: { state: 'paused', waiting: 1, running: 0 },
        });
      expect(await request(at + 1, `/v1/functions/${name}`, 'DELETE')).toMatchObject({
        status: 409,
        body: { error: 'FUNCTION_QUEUE_NOT_EMPTY' },
      });
    }
    await replicas[1]?.drain();
    await replicas.splice(1, 1)[0]?.stop();
    for (const name of names)
      await eventually(async () =>
        expect(await request(0, `/v1/functions/${name}/queue`)).toMatchObject({
          status: 200,
          body: { state: 'paused', waiting: 1 },
        }),
      );
    const gone = await request(0, `/v1/functions/${names[0]}?queue=purge`, 'DELETE');
    expect(gone.status).toBe(204);
  });
});
