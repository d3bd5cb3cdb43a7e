import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import {
  applicationRoutes,
  collectionRoutes,
  collectionWorkerRoutes,
  controlRoutes,
  functionRoutes,
  picklistRoutes,
  scalingRoutes,
  failedChangeRoutes,
  webhookRoutes,
} from '@drover/contracts';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { edgeRoutes } from '../src/api/edge-routes.js';
import { assignmentMigrations } from '../src/assignments/assignment-migrations.js';
import { controlPlaneSchema } from '../src/schema.js';
import { startControlPlane, type RunningControlPlane } from './support/control-plane.js';
import './support/refusal-matcher.js';
import { leavesNoSecretBehind } from './support/secrets.js';

let database: TestDatabase;
let plane: RunningControlPlane;
const served: string[] = [];

/** The framework announces each instance before it has routes. */
const watch = (message: unknown): void => {
  const { fastify } = message as { readonly fastify: FastifyInstance };
  fastify.addHook('onRoute', ({ method, url }) => {
    const path = url.replaceAll(/(?<!:):(\w+)/g, '{$1}').replaceAll('::', ':');
    for (const one of [method].flat()) served.push(`${one} ${path}`);
  });
};

leavesNoSecretBehind();
beforeAll(async () => {
  subscribe('fastify.initialization', watch);
  database = await createTestDatabase(controlPlaneSchema);
  plane = await startControlPlane(database.url);
});
afterAll(async () => {
  unsubscribe('fastify.initialization', watch);
  await plane?.stop();
  await database.drop();
});

const declared = Object.values({
  ...controlRoutes,
  ...functionRoutes,
  ...applicationRoutes,
  ...scalingRoutes,
  ...collectionRoutes,
  ...picklistRoutes,
  ...failedChangeRoutes,
  ...webhookRoutes,
  ...collectionWorkerRoutes,
}).map(({ method, path }) => `${method} ${path}`);

describe('the routes of the control plane', () => {
  it('are served exactly as contracts declares them, by the framework or before it, no more and no fewer', () => {
    const before = edgeRoutes.map(({ method, path }) => `${method} ${path}`);
    expect([...served, ...before].toSorted()).toEqual(declared.toSorted());
  });

  it('are exactly those of /openapi.json', async () => {
    const { status, body } = await plane.request('/openapi.json');
    expect(status).toBe(200);
    const { paths } = body as { readonly paths: Record<string, Record<string, unknown>> };
    const documented = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(documented.toSorted()).toEqual(declared.toSorted());
  });

  it('answer no other method', async () => {
    for (const method of ['OPTIONS', 'PATCH', 'PUT', 'POST', 'DELETE', 'GET'])
      for (const { path } of Object.values(controlRoutes)) {
        if (declared.includes(`${method} ${path}`)) continue;
        const answer = await plane.request(path.replace('{keyId}', 'x'), { method, key: plane.adminKey });
        expect(answer).toBeRefusedWith(404, 'ROUTE_NOT_FOUND');
      }
    expect((await plane.request('/healthz', { method: 'HEAD' })).status).toBe(404);
  });

  it('answer 404 in the one shape for what does not exist', async () => {
    for (const path of ['/', '/control', '/control/keys/', '/HEALTHZ', '//healthz', '/control/keys/a/b', '/.env']) {
      const answer = await plane.request(path);
      expect(answer).toBeRefusedWith(404, 'ROUTE_NOT_FOUND');
    }
  });

  it('show health, status and figures', async () => {
    const key = plane.adminKey;
    const client = plane.client(key);
    await expect(client.getHealth()).resolves.toEqual({ status: 'ready', problems: {} });
    await expect(client.getReadiness()).resolves.toEqual({ status: 'ready', problems: {} });
    await expect(client.getStatus()).resolves.toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      database: {
        version: expect.stringMatching(/^\d+/),
        schema: { 'control-plane': 1, assignments: assignmentMigrations.steps.length },
      },
    });
    await expect(client.getMetrics()).resolves.toMatch(
      /^drover_http_request_seconds_count\{.*route="\/healthz".*\} \d+$/m,
    );
    expect((await plane.request('/metrics', { key })).headers.get('content-type')).toMatch(/^text\/plain/);
  });

  it('are never cached and never taken for another type', async () => {
    for (const path of ['/healthz', '/openapi.json', '/control/keys', '/nowhere']) {
      const { headers } = await plane.request(path);
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    }
  });
});
