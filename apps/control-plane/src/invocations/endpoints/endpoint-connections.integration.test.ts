import { systemClock } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EndpointConnection } from './endpoint-connection.js';
import { EndpointConnections } from './endpoint-connections.js';
import { EndpointGuard } from './endpoint-guard.js';
import { EndpointHosts } from './endpoint-hosts.js';
import { ForeignEndpoint } from './testing/foreign-endpoint.js';

let endpoint: ForeignEndpoint;
let connections: EndpointConnections;
beforeEach(async () => {
  endpoint = await ForeignEndpoint.http((request, response) => request.resume().on('end', () => response.end()));
  connections = make(true);
});
afterEach(async () => {
  await connections.close();
  await endpoint.close();
});

function make(allowsLoopback: boolean): EndpointConnections {
  return new EndpointConnections({
    url: new URL(endpoint.url),
    limits: { connectTimeoutMs: 5_000, maxResponseBytes: 1_024 },
    guard: new EndpointGuard({ hosts: EndpointHosts.parse(''), allowsLoopback, clock: systemClock }),
    clock: systemClock,
  });
}

/** The status of the answer. */
function send(connection: EndpointConnection): Promise<number> {
  return new Promise((resolve, reject) => {
    let status = 0;
    connection.send(
      { method: 'POST', path: '/', body: 'x' },
      {
        onConnect: () => undefined,
        onHeaders(given) {
          status = given;
          return true;
        },
        onData: () => true,
        onComplete: () => resolve(status),
        onError: reject,
      },
    );
  });
}

describe('EndpointConnections', () => {
  it('hand out the one given back last, and count those in use', async () => {
    const [first, second] = [connections.take(), connections.take()];
    expect(await Promise.all([send(first), send(second)])).toEqual([200, 200]);
    expect([connections.open, connections.inUse]).toEqual([2, 2]);
    connections.give(first);
    connections.give(second);
    expect([connections.open, connections.inUse]).toEqual([2, 0]);
    expect(connections.take()).toBe(second);
    expect(connections.take()).toBe(first);
    expect(connections.take()).not.toBe(first);
  });

  it('forget idle ones that the other side closed', async () => {
    const connection = connections.take();
    await send(connection);
    connections.give(connection);
    await endpoint.close();
    await eventually(() => connections.open === 0);
    expect(connections.take()).not.toBe(connection);
  });

  it('end those that were dropped, once', async () => {
    const connection = connections.take();
    await send(connection);
    connections.drop(connection);
    connections.drop(connection);
    connections.give(connection);
    expect([connections.open, connections.inUse]).toEqual([0, 0]);
    await eventually(() => endpoint.open === 0);
  });

  it('keep none that comes back after the end', async () => {
    await connections.close();
    const late = connections.take();
    expect(await send(late)).toBe(200);
    connections.give(late);
    expect(connections.open).toBe(0);
    await eventually(() => endpoint.open === 0);
  });

  it('judge the address themselves, whoever asked for them', async () => {
    const guarded = make(false);
    await expect(send(guarded.take())).rejects.toMatchObject({ code: 'ENDPOINT_REFUSED' });
    expect(endpoint.connections).toBe(0);
    await guarded.close();
  });
});
