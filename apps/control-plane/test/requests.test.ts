import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { controlPlaneSchema } from '../src/schema.js';
import { idOf, startControlPlane, type RunningControlPlane } from './support/control-plane.js';
import { exchange, get } from './support/raw-http.js';
import './support/refusal-matcher.js';
import { leavesNoSecretBehind } from './support/secrets.js';

let test: TestDatabase;
let plane: RunningControlPlane;

leavesNoSecretBehind();
beforeAll(async () => {
  test = await createTestDatabase(controlPlaneSchema);
  plane = await startControlPlane(test.url);
});
afterAll(async () => {
  await plane?.stop();
  await test.drop();
});

const observed = (requestId: string): Promise<Readonly<Record<string, unknown>>> =>
  eventually(() => {
    const line = plane.log.find((entry) => entry['kind'] === 'http.request' && entry['requestId'] === requestId);
    if (!line) throw new Error(`no http.request for ${requestId}`);
    return line;
  });

describe('a request id', () => {
  it.each(['a', 'abc-123_X.y:z', 'x'.repeat(128)])('is kept when it is valid: %s', async (given) => {
    const answer = await plane.request('/nowhere', { headers: { 'x-request-id': given } });
    expect(answer).toBeRefusedWith(404, 'ROUTE_NOT_FOUND');
    expect(answer.body).toMatchObject({ requestId: given });
    await expect(observed(given)).resolves.toMatchObject({ status: 404, route: 'none' });
  });

  it.each(['', 'x'.repeat(129), 'a b', 'a"b', '<script>', '${jndi:x}', 'a,b', 'é'])(
    'is replaced when it is not: %j',
    async (given) => {
      const answer = await plane.request('/nowhere', { headers: { 'x-request-id': given } });
      expect(answer.headers.get('x-request-id')).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
      expect(answer.body).toMatchObject({ requestId: answer.headers.get('x-request-id') });
    },
  );

  it('is replaced when it was sent twice', async () => {
    const answer = await exchange(plane.url, get('/nowhere', 'x-request-id: one', 'x-request-id: two'));
    expect(answer.headers.get('x-request-id')).toMatch(/^[\da-f-]{36}$/);
  });
});

describe('the observation of a request', () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';

  it('continues the trace of the caller', async () => {
    const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01`, 'x-request-id': 'traced' };
    await plane.request('/healthz', { headers });
    const { trace } = await observed('traced');
    expect(trace).toEqual({
      traceId,
      parentSpanId: 'b7ad6b7169203331',
      spanId: expect.stringMatching(/^[\da-f]{16}$/),
    });
    expect(trace).not.toMatchObject({ spanId: 'b7ad6b7169203331' });
  });

  it.each([`00-${traceId}-b7ad6b7169203331`, 'nonsense', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`])(
    'begins a trace of its own when the header is %s',
    async (traceparent) => {
      const requestId = `untraced-${traceparent.length}-${traceparent.slice(3, 5)}`;
      await plane.request('/healthz', { headers: { traceparent, 'x-request-id': requestId } });
      const { trace } = await observed(requestId);
      expect(trace).not.toHaveProperty('parentSpanId');
      expect(trace).toMatchObject({ traceId: expect.stringMatching(/^(?!0+$)[\da-f]{32}$/) });
      expect(trace).not.toMatchObject({ traceId });
    },
  );

  it('has the pattern of the route, never the address, and the id of the key', async () => {
    await plane.request('/control/keys/0123456789abcdef?token=abc', {
      method: 'DELETE',
      key: plane.adminKey,
      headers: { 'x-request-id': 'patterned' },
    });
    const line = await observed('patterned');
    expect(line).toMatchObject({
      method: 'DELETE',
      route: '/control/keys/:keyId',
      status: 404,
      keyId: idOf(plane.adminKey),
    });
    expect(JSON.stringify(line)).not.toMatch(/0123456789abcdef|token/);
  });
});
