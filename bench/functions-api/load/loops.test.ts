import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { closedLoop } from './closed-loop.js';
import { openLoop } from './open-loop.js';
import { sequenceMark } from './request.js';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function serve(listener: RequestListener): Promise<number> {
  server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port; // it listens on TCP
}

const request = { path: '/call', headers: {}, body: `["${sequenceMark}"]` };

/** A server that notes every number it was sent. */
async function serveNumbers(answer: RequestListener): Promise<{ readonly port: number; readonly seen: number[] }> {
  const seen: number[] = [];
  const port = await serve((incoming, response) => {
    let body = '';
    incoming.on('data', (data: Buffer) => (body += data.toString()));
    incoming.on('end', () => {
      seen.push(...(JSON.parse(body) as string[]).map(Number));
      answer(incoming, response);
    });
  });
  return { port, seen };
}

describe('a closed loop', () => {
  it('sends every number once and times every answer', async () => {
    const { port, seen } = await serveNumbers((_, response) => response.writeHead(202).end('{}'));
    const load = { port, request, connections: 3, until: { requests: 20 }, expectedStatus: 202, firstNumber: 7 };
    const result = await closedLoop(load);
    expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n + 7));
    expect(result.calls).toBe(20);
    expect(result.latenciesUs).toHaveLength(20);
    expect(result.answeredMs.filter((ms) => ms > 0)).toHaveLength(20);
  });

  it('keeps as many under way as it has connections', async () => {
    let underWay = 0;
    let most = 0;
    const { port } = await serveNumbers((_, response) => {
      most = Math.max(most, (underWay += 1));
      setTimeout(() => {
        underWay -= 1;
        response.end();
      }, 5);
    });
    await closedLoop({ port, request, connections: 5, until: { durationMs: 40 }, expectedStatus: 200 });
    expect(most).toBe(5);
  });

  it('fails with an answer that it did not expect, and with a connection that is lost', async () => {
    const { port } = await serveNumbers((incoming, response) => {
      if (incoming.url === '/call') response.writeHead(500).end('broken');
      else incoming.socket.destroy();
    });
    const load = { port, request, connections: 2, until: { requests: 2 }, expectedStatus: 200 };
    await expect(closedLoop(load)).rejects.toThrow('broken');
    const lost = { ...load, request: { ...request, path: '/lost' } };
    await expect(closedLoop(lost)).rejects.toThrow(/closed a connection|ECONNRESET/);
  });
});

describe('an open loop', () => {
  it('sends what its phases promise, whatever the answers', async () => {
    const { port, seen } = await serveNumbers((_, response) => response.end('{}'));
    const phases = [
      { perSecond: 500, durationMs: 40 },
      { perSecond: 100, durationMs: 50 },
    ];
    const result = await openLoop({ port, request, connections: 64, phases });
    expect(result.phases.map(({ sent }) => sent)).toEqual([20, 5]);
    expect(result.phases.map(({ served }) => served)).toEqual([{ 200: 20 }, { 200: 5 }]);
    expect(result.unsent).toBe(0);
    expect(seen).toHaveLength(25);
  });

  it('lets some of those who were refused come back once, when they were told to', async () => {
    let calls = 0;
    const { port, seen } = await serveNumbers((_, response) => {
      calls += 1;
      if (calls <= 10) response.writeHead(429, { 'Retry-After': '0.05' }).end();
      else response.end();
    });
    const phases = [
      { perSecond: 500, durationMs: 20 },
      { perSecond: 0, durationMs: 1 },
    ];
    const result = await openLoop({ port, request, connections: 16, phases, oneInComesBack: 5 });
    expect(seen).toHaveLength(12);
    expect(result.phases[0]?.refusedUs).toHaveLength(10);
    expect(result.retryAfterS).toEqual(Array.from({ length: 10 }, () => 0.05));
    expect(result.phases[1]).toMatchObject({ sent: 2, cameBack: 2, cameBackServed: 2 });
  });

  it('says how many it could not send', async () => {
    const { port } = await serveNumbers((_, response) => void setTimeout(() => response.end(), 60));
    const phases = [{ perSecond: 200, durationMs: 50 }];
    const result = await openLoop({ port, request, connections: 2, phases });
    expect(result.phases[0]?.sent).toBe(2);
    expect(result.unsent).toBe(8);
  });
});
