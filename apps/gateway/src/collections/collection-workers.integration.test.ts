import { once } from 'node:events';
import { Agent, createServer, request, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { routeGenerationHeader, serveAnywayHeader } from '@drover/contracts';
import { FastLane } from '@drover/http-edge';
import { systemClock, systemRandomness, type Clock } from '@drover/service-kit';
import { eventually, FakeClock } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { CollectionEndpoints } from '../endpoints/collection-endpoints.js';
import { EndpointWatch } from '../endpoints/endpoint-watch.js';
import { defaultEndpointPolicy } from '../picking/endpoint.js';
import type { RoutedCollection } from '../routes/collection-routes.js';
import { CollectionProxy } from './collection-proxy.js';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

const limits = {
  headerBytes: 16_384,
  headers: 100,
  addressBytes: 8_192,
  requestBytes: 65_536,
  keepAliveMs: 5_000,
  checkEveryMs: 1_000,
};

async function listen(server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(
    () =>
      new Promise((resolve) => {
        server.close(resolve);
        for (const socket of sockets) socket.destroy();
      }),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A worker that answers with its name, and keeps the requests that it has seen. */
async function worker(name: string, serve?: RequestListener) {
  const seen: IncomingMessage[] = [];
  const url = await listen(
    createServer((incoming, response) => {
      seen.push(incoming);
      if (serve) serve(incoming, response);
      else incoming.resume().once('end', () => response.end(name));
    }),
  );
  return { name, url, seen };
}

/** A worker that takes the whole request and then resets the connection. */
async function resettingWorker() {
  const seen: string[] = [];
  const url = await listen(
    createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (bytes) => {
        seen.push(String(bytes));
        socket.resetAndDestroy();
      });
    }),
  );
  return { name: 'resetting', url, seen };
}

/** An address at which nothing listens. */
async function closedUrl(): Promise<string> {
  const server = createTcpServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await new Promise((resolve) => server.close(resolve));
  return url;
}

type Lane = 'fast lane' | "Node's server";

interface GatewayOptions {
  readonly holdMs?: number;
  readonly maxInFlight?: number;
  readonly recordsBodyBytes?: number;
  readonly clock?: Clock;
  /** Serve other collections of the tenant. */
  readonly spares?: readonly { readonly name: string; readonly url: string }[];
}

/** A gateway for the collection `orders` of one tenant. A request tries the first of the workers first. */
async function gateway(
  lane: Lane,
  named: readonly { readonly name: string; readonly url: string }[],
  {
    holdMs = 0,
    maxInFlight = 1_024,
    recordsBodyBytes = 10_485_760,
    clock = systemClock,
    spares = [],
  }: GatewayOptions = {},
) {
  const watch = new EndpointWatch({ clock, timeoutMs: 30_000 });
  const policy = { ...defaultEndpointPolicy, maxInFlight };
  const endpoints = new CollectionEndpoints({ policy, clock, onBusy: watch.watch });
  const resolve = (workers: typeof named, generation: number): RoutedCollection => ({
    generation,
    endpoints: endpoints.acquire(workers.map(({ name, url }) => ({ workerId: name, url }))),
  });
  const routes = {
    hasWorkers: true,
    route: named.length === 0 ? undefined : resolve(named, 7),
    afterRefresh: undefined as RoutedCollection | undefined,
    find: () => routes.route,
    findForTenant: () => routes.route ?? { generation: 0, endpoints: [] },
    findOwn: () => resolve(spares, 0),
    refresh: async () => void (routes.route = routes.afterRefresh ?? routes.route),
    catchUp: async () => undefined,
    onChange: undefined as ((collectionId: string | undefined) => void) | undefined,
  };
  const target = { tenantId: 'default', collectionId: 'id-of-orders' };
  const observed: string[] = [];
  const proxy = new CollectionProxy({
    clock,
    randomness: { ...systemRandomness, fraction: () => 0 },
    observe: ({ kind }) => void observed.push(kind),
    collectionWorkerUrl: undefined,
    collectionWorkerUrlFile: undefined,
    holdMs,
    maxHeldRequests: 2,
    recordsBodyBytes,
    routes,
    names: {
      isEmpty: false,
      targetsOf: () => ({ get: () => target }) as unknown as ReadonlyMap<string, typeof target>,
      namesOf: () => ['orders'],
      lookUp: async () => target,
    },
    authenticator: { authenticateCached: () => undefined, authenticate: async () => ({ refused: 'unknown' }) },
    functions: { serve: () => false, serveFastLane: () => false },
  });
  const server = createServer((incoming, response) => {
    response.setHeader('x-handed-over', '1');
    proxy.serve(incoming, response);
  });
  const url = await listen(server);
  closing.push(async () => {
    watch.stop();
    await proxy.stop();
    await endpoints.close();
  });
  if (lane === 'fast lane') {
    const fastLane = new FastLane(server, { limits, clock: systemClock, serve: proxy.serveFastLane });
    closing.push(async () => fastLane.close());
  }
  const change = (workers: typeof named, generation: number) => {
    routes.route = resolve(workers, generation);
    routes.onChange?.(target.collectionId);
  };
  return { url, routes, resolve, change, endpoints, observed };
}

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly path?: string;
}

/** The fast lane leaves requests with `connection: close` to Node's server. */
function keptConnections(): Agent {
  const agent = new Agent({ keepAlive: true });
  closing.push(async () => agent.destroy());
  return agent;
}

/** Returns status and body; "broken" if the connection broke before the end of the answer. */
async function send(url: string, { method = 'GET', headers = {}, body, path = '/api/orders' }: Sent = {}) {
  const outgoing = request(`${url}${path}`, { method, headers, agent: keptConnections() });
  outgoing.end(body);
  try {
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of incoming) text += String(chunk);
    const code = /"code":"(\w+)"/.exec(text)?.[1];
    return { status: incoming.statusCode, text: code ?? text, headers: incoming.headers };
  } catch {
    return { status: 0, text: 'broken', headers: {} };
  }
}
const shown = async (sent: ReturnType<typeof send>) => {
  const { status, text } = await sent;
  return `${status} ${text}`;
};

const key = { 'idempotency-key': 'k1' };
const brokeOff = '502 GATEWAY_COLLECTION_WORKER_BROKE_OFF';
const unreachable = '503 GATEWAY_COLLECTION_WORKER_UNREACHABLE';

describe.each<Lane>(['fast lane', "Node's server"])('requests for records, on %s', (lane) => {
  it('reach a worker with their path and query byte for byte, marked with the generation of the route', async () => {
    const one = await worker('one');
    const { url } = await gateway(lane, [one]);
    const path = '/api/orders/a%2Cb?filter=%7B%22x%22%3A1%7D&sort=-a,b&&e=%20+';
    const marks = { [routeGenerationHeader]: '99', [serveAnywayHeader]: '1' };
    expect(await shown(send(url, { path, headers: marks }))).toBe('200 one');
    expect((await send(url)).headers['x-handed-over']).toBe(lane === 'fast lane' ? undefined : '1');
    expect(one.seen[0]?.url).toBe(path);
    expect(one.seen[0]?.headers[routeGenerationHeader]).toBe('7');
    expect(one.seen[0]?.headers[serveAnywayHeader]).toBeUndefined();
  });

  it('go to another worker if one accepts no connections, writes too', async () => {
    const two = await worker('two');
    const { url } = await gateway(lane, [{ name: 'gone', url: await closedUrl() }, two]);
    expect(await shown(send(url, { method: 'POST', body: '{}' }))).toBe('200 two');
    expect(await shown(send(url))).toBe('200 two');
  });

  it('go to another worker after a reset only if they are reads', async () => {
    const [broken, two] = [await resettingWorker(), await worker('two')];
    const { url, observed } = await gateway(lane, [broken, two]);
    expect(await shown(send(url))).toBe('200 two');
    expect(observed).toEqual(['gateway.retried']);
    for (const method of ['POST', 'PATCH', 'PUT', 'DELETE']) {
      const { url: other } = await gateway(lane, [broken, two]);
      const body = method === 'DELETE' ? {} : { body: '{}' };
      expect(await shown(send(other, { method, ...body }))).toBe(brokeOff);
    }
    expect(two.seen).toHaveLength(1);
  });

  it('are not repeated with a key where the worker does not remember it', async () => {
    const [broken, two] = [await resettingWorker(), await worker('two')];
    for (const [method, path] of [
      ['PATCH', '/api/orders/1'],
      ['POST', '/api/orders/1/restore'],
      ['POST', '/api/orders/import'],
    ] as const) {
      const { url } = await gateway(lane, [broken, two]);
      expect(await shown(send(url, { method, path, body: '{}', headers: key }))).toBe(brokeOff);
    }
    expect(two.seen).toHaveLength(0);
  });

  it('are led to the right worker by a wrong one, and to the one that a newer route names', async () => {
    const refuse: RequestListener = (incoming, response) => {
      incoming.resume();
      response.writeHead(421, { [routeGenerationHeader]: '8' }).end('{}');
    };
    const [wrong, two] = [await worker('wrong', refuse), await worker('two')];
    expect(await shown(send((await gateway(lane, [wrong, two])).url))).toBe('200 two');
    const moved = await gateway(lane, [wrong]);
    moved.routes.afterRefresh = moved.resolve([two], 9);
    expect(await shown(send(moved.url))).toBe('200 two');
    expect(two.seen.at(-1)?.headers[routeGenerationHeader]).toBe('9');
  });

  it('are served anyway when no worker of the route holds the collection', async () => {
    const picky = await worker('picky', (incoming, response) => {
      incoming.resume();
      if (incoming.headers[serveAnywayHeader] === '1') response.end('anyway');
      else response.writeHead(421).end();
    });
    const { url } = await gateway(lane, [picky]);
    expect(await shown(send(url))).toBe('200 anyway');
    expect(picky.seen).toHaveLength(2);
  });

  it('break when the answer breaks off in its middle', async () => {
    const half = await worker('half', (_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => response.destroy());
    });
    const { url } = await gateway(lane, [half, await worker('two')]);
    expect(await shown(send(url))).toBe('0 broken');
  });

  it('get the status 500 of a worker as it is if they write, and fewer of them once it is known to fail', async () => {
    const failing = await worker('failing', (_, response) => void response.writeHead(500).end('failed'));
    const { url } = await gateway(lane, [failing, await worker('two')]);
    const answers: string[] = [];
    for (let index = 0; index < 30; index += 1) answers.push(await shown(send(url, { method: 'DELETE' })));
    expect(answers[0]).toBe('500 failed');
    expect(answers.filter((answer) => answer === '500 failed').length).toBeLessThan(5);
  });

  it.each([500, 502, 503, 504])('go to another worker once if one answers a read with %i', async (status) => {
    const failing = await worker('failing', (_, response) => void response.writeHead(status).end('failed'));
    const { url, observed } = await gateway(lane, [failing, await worker('two')]);
    expect(await shown(send(url))).toBe('200 two');
    expect(observed).toEqual(['gateway.retried']);
    const twice = await gateway(lane, [failing, { ...failing, name: 'other' }]);
    const before = failing.seen.length;
    expect(await shown(send(twice.url, { method: 'HEAD' }))).toBe(`${status} `);
    expect(failing.seen.length - before).toBe(2);
    expect(await shown(send((await gateway(lane, [failing])).url))).toBe(`${status} failed`);
    expect(failing.seen.length - before).toBe(3);
    const other = await gateway(lane, [failing, await worker('two')]);
    expect(await shown(send(other.url, { method: 'POST', body: '{}', headers: key }))).toBe(`${status} failed`);
  });

  it('wait for a route, and are answered with 503 when none comes or too many wait', async () => {
    const { url, change } = await gateway(lane, [], { holdMs: 60_000 });
    const sent = [send(url), send(url, { method: 'POST', body: '{}' }), send(url)];
    const refused = await Promise.race(sent);
    expect(`${refused.status} ${refused.text} ${refused.headers['retry-after']}`).toBe(`${unreachable} 1`);
    change([await worker('one')], 8);
    const statuses = (await Promise.all(sent)).map(({ status }) => String(status));
    expect(statuses.toSorted()).toEqual(['200', '200', '503']);
    const { url: other } = await gateway(lane, [{ name: 'gone', url: await closedUrl() }], { holdMs: 40 });
    expect(await shown(send(other))).toBe(unreachable);
  });

  it('wait while the only worker is away, and go on when it listens again', async () => {
    const address = await closedUrl();
    const { url } = await gateway(lane, [{ name: 'one', url: address }], { holdMs: 60_000 });
    const answer = shown(send(url, { method: 'POST', body: '{}' }));
    await new Promise((resolve) => setImmediate(resolve));
    const server = createServer((_, response) => void response.end('back'));
    server.listen(Number(new URL(address).port), '127.0.0.1');
    closing.push(async () => server.close().closeAllConnections());
    expect(await answer).toBe('200 back');
  });

  it('are refused at once when all workers have the most requests in flight', async () => {
    const hanging = await worker('hanging', () => undefined);
    const { url } = await gateway(lane, [hanging], { maxInFlight: 1 });
    const first = shown(send(url, { method: 'DELETE' }));
    await eventually(() => expect(hanging.seen).toHaveLength(1));
    const { status, text, headers } = await send(url);
    expect(`${status} ${text} ${headers['retry-after']}`).toBe('503 GATEWAY_COLLECTION_WORKERS_BUSY 1');
    hanging.seen[0]?.socket.destroy();
    expect(await first).toBe(brokeOff);
  });

  it('are refused with 413 if their body is longer than it may be, imports aside', async () => {
    const one = await worker('one');
    const { url, endpoints } = await gateway(lane, [one], { recordsBodyBytes: 20 });
    const tooLong = '413 PAYLOAD_TOO_LARGE';
    const post = { method: 'POST', body: 'x'.repeat(21) };
    expect(await shown(send(url, post))).toBe(tooLong);
    expect(one.seen).toHaveLength(0);
    expect(await shown(send(url, { ...post, headers: { 'transfer-encoding': 'chunked' } }))).toBe(tooLong);
    expect(endpoints.all[0]?.inFlight).toBe(0);
    expect(await shown(send(url, { ...post, body: 'x'.repeat(20) }))).toBe('200 one');
    expect(await shown(send(url, { ...post, path: '/api/orders/import' }))).toBe('200 one');
  });

  it('end at the worker when their client leaves', async () => {
    const hanging = await worker('hanging', () => undefined);
    const { url, endpoints } = await gateway(lane, [hanging]);
    const outgoing = request(`${url}/api/orders`, { agent: keptConnections() }).on('error', () => undefined);
    outgoing.end();
    await eventually(() => expect(hanging.seen).toHaveLength(1));
    const closed = once(hanging.seen[0]?.socket ?? outgoing, 'close');
    outgoing.destroy();
    await closed;
    await eventually(() => expect(endpoints.all[0]?.inFlight).toBe(0));
  });
});

describe('a worker that accepts requests and answers nothing', () => {
  const hangingWorker = () => worker('hanging', () => undefined);

  it('is left by reads, also in flight, and gets no more requests until it answers again', async () => {
    const clock = new FakeClock();
    const answering = { isThere: false };
    const hanging = await worker('hanging', (_, response) => void (answering.isThere && response.end('awake')));
    const { url, endpoints } = await gateway('fast lane', [hanging, await worker('two')], { clock });
    const read = shown(send(url));
    await eventually(() => expect(hanging.seen).toHaveLength(1));
    await clock.advance(1_000);
    await eventually(() => expect(hanging.seen.map((seen) => seen.url)).toContain('/healthz'));
    await clock.advance(1_000);
    expect(await read).toBe('200 two');
    expect(endpoints.all[0]?.state).toBe('EJECTED');
    await clock.advance(20_000);
    expect(await shown(send(url, { method: 'POST', body: '{}' }))).toBe('200 two');
    answering.isThere = true;
    await eventually(async () => {
      await clock.advance(1_000);
      expect(endpoints.all[0]?.state).toBe('HEALTHY');
    });
  });

  it('keeps a write, which may have arrived, until its time is over', async () => {
    const clock = new FakeClock();
    const hanging = await hangingWorker();
    const two = await worker('two');
    const { url, endpoints } = await gateway('fast lane', [hanging, two], { clock });
    const write = shown(send(url, { method: 'DELETE' }));
    await eventually(() => expect(hanging.seen).toHaveLength(1));
    await clock.advance(1_000);
    await eventually(() => expect(hanging.seen).toHaveLength(2));
    await clock.advance(28_900);
    expect(endpoints.all[0]?.inFlight).toBe(1);
    await clock.advance(1_000);
    expect(await write).toBe('504 GATEWAY_COLLECTION_WORKER_TIMED_OUT');
    expect(two.seen).toHaveLength(0);
  });

  it('is asked whether it lives, and keeps its requests if it does', async () => {
    const clock = new FakeClock();
    const slow = await worker('slow', (incoming, response) => {
      if (incoming.url === '/healthz') response.end('alive');
      else void clock.after(5_000, () => response.end('slow'));
    });
    const { url } = await gateway('fast lane', [slow, await worker('two')], { clock });
    const answer = shown(send(url));
    await eventually(() => expect(slow.seen).toHaveLength(1));
    await eventually(async () => {
      await clock.advance(500);
      expect(clock.monotonicMs()).toBeGreaterThan(6_000);
    });
    expect(await answer).toBe('200 slow');
    expect(slow.seen.length).toBeGreaterThan(2);
  });

  it('as the only one of a collection is replaced by another worker of the tenant, which serves anyway', async () => {
    const spare = await worker('spare');
    const gone = { name: 'gone', url: await closedUrl() };
    const { url } = await gateway('fast lane', [gone], { spares: [spare] });
    expect(await shown(send(url, { method: 'POST', body: '{}' }))).toBe('200 spare');
    expect(spare.seen[0]?.headers[serveAnywayHeader]).toBe('1');
    const clock = new FakeClock();
    const hanging = await hangingWorker();
    const { url: other } = await gateway('fast lane', [hanging], { spares: [spare], clock });
    const answer = shown(send(other));
    await eventually(() => expect(hanging.seen).toHaveLength(1));
    await clock.advance(1_000);
    await eventually(() => expect(hanging.seen).toHaveLength(2));
    await clock.advance(1_000);
    expect(await answer).toBe('200 spare');
  });
});

describe('a creation with an Idempotency-Key', () => {
  it('goes to another worker after a reset if its body is here as a whole', async () => {
    const [broken, two] = [await resettingWorker(), await worker('two')];
    const fast = await gateway('fast lane', [broken, two]);
    expect(await shown(send(fast.url, { method: 'POST', body: '{}', headers: key }))).toBe('200 two');
    const slow = await gateway("Node's server", [broken, two]);
    expect(await shown(send(slow.url, { method: 'POST', body: '{}', headers: key }))).toBe(brokeOff);
  });
});

describe('a body that is sent as it arrives', () => {
  it('is marked, so that the first worker serves it', async () => {
    const one = await worker('one');
    const { url } = await gateway('fast lane', [one]);
    expect(await shown(send(url, { method: 'POST', body: 'x'.repeat(100_000) }))).toBe('200 one');
    expect(one.seen[0]?.headers[serveAnywayHeader]).toBe('1');
    expect(await shown(send(url, { method: 'POST', body: 'x' }))).toBe('200 one');
    expect(one.seen[1]?.headers[serveAnywayHeader]).toBeUndefined();
  });
});
