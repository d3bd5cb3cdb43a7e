import { once } from 'node:events';
import { createServer, request, type RequestListener } from 'node:http';
import { connect } from 'node:net';
import { routeGenerationHeader, serveAnywayHeader } from '@drover/contracts';
import { eventually, FakeClock } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import {
  closeAll,
  closedUrl,
  closing,
  gateway,
  keptConnections,
  resettingWorker,
  send,
  shown,
  worker,
  type Lane,
} from './gateway.test.fixture.js';

afterEach(closeAll);

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
      const { url: other, refused } = await gateway(lane, [broken, two]);
      const body = method === 'DELETE' ? {} : { body: '{}' };
      const sent = send(other, { method, headers: { 'x-request-id': 'a-change' }, ...body });
      expect(await shown(sent)).toBe(brokeOff);
      expect(refused).toMatchObject([{ requestId: 'a-change', isLasting: true }]);
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
  it('goes to another worker after a reset if its body is short, and tells its length', async () => {
    const [broken, two] = [await resettingWorker(), await worker('two')];
    const chunked = { ...key, 'transfer-encoding': 'chunked' };
    for (const lane of ['fast lane', "Node's server"] as const) {
      const short = await gateway(lane, [broken, two]);
      expect(await shown(send(short.url, { method: 'POST', body: '{}', headers: key }))).toBe('200 two');
      const streamed = await gateway(lane, [broken, two]);
      expect(await shown(send(streamed.url, { method: 'POST', body: '{}', headers: chunked }))).toBe(brokeOff);
      const long = await gateway(lane, [broken, two]);
      const body = 'x'.repeat(100_000);
      expect(await shown(send(long.url, { method: 'POST', body, headers: key }))).toBe(brokeOff);
    }
  });

  it('has no effect if its client leaves before its body is complete', async () => {
    const one = await worker('one');
    const { url } = await gateway("Node's server", [one]);
    const left = connect(Number(new URL(url).port), '127.0.0.1');
    left.resume().end('POST /api/orders HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhal');
    await once(left, 'close');
    expect(await shown(send(url))).toBe('200 one');
    expect(one.seen.map(({ method }) => method)).toEqual(['GET']);
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
