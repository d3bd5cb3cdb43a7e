import { requestHead } from '@drover/http-edge';
import { systemClock, type Clock } from '@drover/service-kit';
import { eventually, FakeClock } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EndpointConnection } from './endpoint-connection.js';
import { EndpointConnections } from './endpoint-connections.js';
import { EndpointGuard } from './endpoint-guard.js';
import { EndpointHosts } from './endpoint-hosts.js';
import { ForeignEndpoint } from '../testing/foreign-endpoint.js';

let endpoint: ForeignEndpoint;
let connections: EndpointConnections;
beforeEach(async () => {
  endpoint = await ForeignEndpoint.http((request, response) => request.resume().on('end', () => response.end()));
  connections = make('loopback');
});
afterEach(async () => {
  await connections.close();
  await endpoint.close();
});

function make(
  allowed: string,
  { url = endpoint.url, clock = systemClock }: { readonly url?: string; readonly clock?: Clock } = {},
): EndpointConnections {
  return new EndpointConnections({
    url: new URL(url),
    limits: { connectTimeoutMs: 5_000, maxResponseBytes: 1_024 },
    guard: new EndpointGuard({ hosts: EndpointHosts.parse(allowed), clock: systemClock }),
    clock,
  });
}

/** The status of the answer. */
function send(connection: EndpointConnection): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = { head: requestHead('POST', new URL(endpoint.url)), body: 'x' };
    connection.send(request, { answered: ({ status }) => resolve(status), failed: reject });
  });
}

describe('EndpointConnections', () => {
  it('hand out the one given back last, and count those in use', async () => {
    const [first, second] = [connections.acquire(), connections.acquire()];
    expect(await Promise.all([send(first), send(second)])).toEqual([200, 200]);
    expect([connections.open, connections.inUse]).toEqual([2, 2]);
    connections.release(first);
    connections.release(second);
    expect([connections.open, connections.inUse]).toEqual([2, 0]);
    expect(connections.acquire()).toBe(second);
    expect(connections.acquire()).toBe(first);
    expect(connections.acquire()).not.toBe(first);
  });

  it('forget idle ones that the other side closed', async () => {
    const connection = connections.acquire();
    await send(connection);
    connections.release(connection);
    await endpoint.close();
    await eventually(() => connections.open === 0);
    expect(connections.acquire()).not.toBe(connection);
  });

  it('end those that were dropped, once', async () => {
    const connection = connections.acquire();
    await send(connection);
    connections.drop(connection);
    connections.drop(connection);
    connections.release(connection);
    expect([connections.open, connections.inUse]).toEqual([0, 0]);
    await eventually(() => endpoint.open === 0);
  });

  it('keep none that comes back after the end', async () => {
    await connections.close();
    const late = connections.acquire();
    expect(await send(late)).toBe(200);
    connections.release(late);
    expect(connections.open).toBe(0);
    await eventually(() => endpoint.open === 0);
  });

  it('check the address themselves, whatever the caller checked', async () => {
    const guarded = make('');
    await expect(send(guarded.acquire())).rejects.toMatchObject({ code: 'ENDPOINT_REFUSED' });
    expect(endpoint.connections).toBe(0);
    await guarded.close();
  });
});

describe('an idle connection', () => {
  /** Says how long it keeps connections, and does not keep to it. */
  const keeping = (seconds: number): Promise<ForeignEndpoint> =>
    ForeignEndpoint.raw((socket) =>
      socket.write(`HTTP/1.1 200 OK\r\nkeep-alive: timeout=${seconds}\r\ncontent-length: 0\r\n\r\n`),
    );

  it('ends a second before the other side would end it, with one timer for all', async () => {
    const clock = new FakeClock();
    const place = await keeping(11);
    const idling = make('loopback', { url: place.url, clock });
    const taken = [idling.acquire(), idling.acquire(), idling.acquire()];
    await Promise.all(taken.map(send));
    expect(clock.pending).toBe(0);
    for (const connection of taken) idling.release(connection);
    expect(clock.pending).toBe(1);
    await clock.advance(6_000);
    const used = idling.acquire();
    await send(used);
    idling.release(used);
    expect([idling.open, clock.pending]).toEqual([3, 1]);
    await clock.advance(4_000);
    expect([idling.open, clock.pending]).toEqual([1, 1]);
    await eventually(() => place.open === 1);
    await clock.advance(5_999);
    expect(idling.open).toBe(1);
    await clock.advance(1);
    expect([idling.open, clock.pending]).toEqual([0, 0]);
    await eventually(() => place.open === 0);
    await idling.close();
    await place.close();
  });

  it('is not reused after its idle time, also before the sweep', async () => {
    let now = 0;
    const late: Clock = { now: () => now, monotonicMs: () => now, after: () => () => undefined };
    const idling = make('loopback', { clock: late });
    const connection = idling.acquire();
    await send(connection);
    idling.release(connection);
    now = 3_999;
    expect(idling.acquire()).toBe(connection);
    idling.release(connection);
    now += 4_000;
    expect(idling.acquire()).not.toBe(connection);
    await eventually(() => endpoint.open === 0);
    await idling.close();
  });

  it('that says something by itself is not handed out', async () => {
    const place = await ForeignEndpoint.raw((socket) => {
      const good = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';
      socket.write(good, () => setImmediate(() => socket.write(good.replace('200', '404'))));
    });
    const idling = make('loopback', { url: place.url });
    for (let round = 1; round <= 3; round += 1) {
      const connection = idling.acquire();
      expect(await send(connection)).toBe(200);
      idling.release(connection);
      await eventually(() => idling.open === 0 && place.open === 0);
      expect(place.connections).toBe(round);
    }
    await idling.close();
    await place.close();
  });

  it('that its last answer has ended is none', async () => {
    const place = await keeping(1);
    const idling = make('loopback', { url: place.url });
    const connection = idling.acquire();
    await send(connection);
    idling.release(connection);
    expect([idling.open, idling.inUse]).toEqual([0, 0]);
    await eventually(() => place.open === 0);
    await idling.close();
    await place.close();
  });
});
