import { afterEach, expect, it } from 'vitest';
import { HealthServer } from './health-server.js';

let server: HealthServer | undefined;
afterEach(() => server?.stop());

it('answers probes with the state of the worker, and nothing else', async () => {
  let isLive = true;
  server = new HealthServer(() => ({ isLive, state: isLive ? 'reconnecting' : 'ended', inFlight: 2 }));
  const url = `http://127.0.0.1:${await server.listen(0)}`;
  const live = await fetch(`${url}/healthz?verbose`);
  expect([live.status, await live.json()]).toEqual([200, { status: 'live', connection: 'reconnecting', inFlight: 2 }]);
  isLive = false;
  expect((await fetch(`${url}/healthz`)).status).toBe(503);
  expect((await fetch(`${url}/healthz`, { method: 'POST' })).status).toBe(405);
  expect((await fetch(`${url}/other`)).status).toBe(404);
});
