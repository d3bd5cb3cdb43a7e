import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { eventually } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { controlPlaneSchema } from '../src/schema.js';
import { startControlPlane, type RunningControlPlane } from './support/control-plane.js';
import { outageLimits, PostgresProxy } from './support/postgres-proxy.js';
import type { Answer } from './support/raw-http.js';
import { echo, ScriptedEndpoint } from './support/scripted-endpoint.js';

let test: TestDatabase;
let proxy: PostgresProxy;
let plane: RunningControlPlane;

beforeEach(async () => {
  test = await createTestDatabase(controlPlaneSchema);
  proxy = await PostgresProxy.to(test.url);
  plane = await startControlPlane(proxy.url, { ...outageLimits, DROVER_ENDPOINT_HOSTS: 'loopback' });
});
afterEach(async () => {
  await plane?.stop();
  await proxy.remove();
  await test.drop();
});

describe('with a database that does not answer the control plane', () => {
  it('accepts calls as unconfirmed, with their ids, and runs each of them once', async () => {
    const endpoint = await ScriptedEndpoint.open();
    const post = (path: string, json: unknown): Promise<Answer> =>
      plane.request(path, { method: 'POST', key: plane.adminKey, json });
    const statusOf = async (id: string): Promise<unknown> =>
      ((await plane.request(`/v1/executions/${id}`, { key: plane.adminKey })).body as { status?: string }).status;
    try {
      await post('/v1/functions', { name: 'f', endpointUrl: endpoint.serve('f', echo) });
      expect((await post('/v1/functions/f:invoke', { input: 0 })).status).toBe(200);
      proxy.silence();
      const [one, batch] = await Promise.all([
        post('/v1/functions/f:enqueue', { input: 1 }),
        post('/v1/functions/f:enqueue-batch', { items: [{ input: 2 }, { input: 3 }] }),
      ]);
      expect(one).toMatchObject({ status: 202, body: { status: 'unconfirmed' } });
      expect(batch).toMatchObject({
        status: 202,
        body: { items: [{ status: 'unconfirmed' }, { status: 'unconfirmed' }] },
      });
      const items = [one.body, ...(batch.body as { items: unknown[] }).items] as { executionId: string }[];
      for (const { executionId } of items) expect(await statusOf(executionId)).toBe('unconfirmed');
      await proxy.cut();
      await proxy.open();
      for (const { executionId } of items)
        await eventually(async () => expect(await statusOf(executionId)).toBe('success'));
      const inputs = endpoint.calls('f').map(({ body }) => Number(body.input));
      expect(inputs.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3]);
    } finally {
      await endpoint.close();
    }
  });
});
