import { connect } from 'node:net';
import { eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { httpFunction } from '../bindings/definition.test.fixture.js';
import type { HealthSource } from './health.js';
import { httpResponse, sendRaw, withServer } from './http-server.test.fixture.js';

const hello = httpFunction('hello', { methods: ['GET', 'POST'] });
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`;
const health: HealthSource = {
  health: { report: () => ({ status: 'ready', problems: {} }), isReady: () => true },
  vitals: () => expect.unreachable(),
  metrics: { masterKey: undefined, text: () => Promise.resolve('') },
};

describe.each([true, false])('the connections of the functions port, with the fast lane: %s', (hasFastLane) => {
  it('leave a reserve for probes while one client has all of them', async () => {
    const server = { hasFastLane, health, limits: { connections: 2 } };
    await withServer({ functions: [hello], invoke: () => httpResponse('hi'), server }, async ({ url, port }) => {
      const held = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
      await Promise.all(
        held.map((socket) => new Promise((resolve) => socket.once('data', resolve).write(get('/api/hello')))),
      );
      expect(await sendRaw(port, get('/api/hello'))).toMatch(/^HTTP\/1\.1 503 [^]*TOO_MANY_CONNECTIONS/);
      for (const path of ['/healthz', '/readyz']) expect((await fetch(`${url}${path}`)).status).toBe(200);
      for (const socket of held) socket.destroy();
      await eventually(async () => expect((await fetch(`${url}/api/hello`)).status).toBe(200));
    });
  });

  it('refuse bytes that are not HTTP after the answer before them, not in its place', async () => {
    const waiting: (() => void)[] = [];
    const invoke = async () => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return httpResponse('hi');
    };
    await withServer({ functions: [hello], invoke, server: { hasFastLane } }, async ({ port, observed }) => {
      const received = sendRaw(port, `${get('/api/hello')}garbage\r\n\r\n`, 10_000);
      await eventually(() => waiting.length === 1);
      waiting[0]?.();
      expect([...(await received).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['200', '400']);
      expect(observed).toContainEqual(expect.objectContaining({ kind: 'http.unreadable', status: 400 }));
    });
  });
});
