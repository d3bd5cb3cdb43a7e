import { systemClock } from '@drover/service-kit';
import { FakeClock } from '@drover/testkit';
import type { LookupAddress } from 'node:dns';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AttemptResult } from '../dispatcher.js';
import { EndpointDispatcher } from '../endpoint/endpoint-dispatcher.js';
import { attemptOf, endpointFunction } from '../testing/attempts.js';
import { EndpointGuard, type EndpointGuardOptions } from './endpoint-guard.js';
import { EndpointHosts } from './endpoint-hosts.js';
import { ForeignEndpoint } from '../testing/foreign-endpoint.js';

/** Must not be reached. */
let canary: ForeignEndpoint;
let hits = 0;
let hosts: (string | undefined)[] = [];
beforeAll(async () => {
  canary = await ForeignEndpoint.http((request, response) => {
    hits += 1;
    hosts.push(request.headers.host);
    request.resume().on('end', () => response.setHeader('content-type', 'application/json').end('"canary"'));
  });
});
afterAll(() => canary.close());
beforeEach(() => {
  hits = 0;
  hosts = [];
});

const v4 = (address: string): LookupAddress => ({ address, family: 4 });
const v6 = (address: string): LookupAddress => ({ address, family: 6 });

/** The addresses of names; no real resolver is used. */
const names: Readonly<Record<string, readonly LookupAddress[]>> = {
  'evil.test': [v4('127.0.0.1')],
  'evil6.test': [v6('::ffff:127.0.0.1')],
  'mixed.test': [v4('8.8.8.8'), v4('127.0.0.1')],
  'metadata.test': [v4('169.254.169.254')],
  'both.test': [v6('::1'), v4('127.0.0.1')],
  'empty.test': [],
  localhost: [v4('127.0.0.1')],
  'localhost.': [v4('127.0.0.1')],
  'a.localhost': [v4('127.0.0.1')],
  'public.test': [v4('8.8.8.8')],
};
const byTable = (name: string): Promise<readonly LookupAddress[]> =>
  names[name]
    ? Promise.resolve(names[name])
    : Promise.reject(Object.assign(new Error('unknown'), { code: 'ENOTFOUND' }));

function guardOf(over: Partial<EndpointGuardOptions> & { readonly allow?: string } = {}): EndpointGuard {
  const { allow = '', ...options } = over;
  return new EndpointGuard({
    hosts: EndpointHosts.parse(allow),
    clock: systemClock,
    lookup: byTable,
    ...options,
  });
}

async function callThrough(guard: EndpointGuard, url: string): Promise<AttemptResult> {
  const pool = new EndpointDispatcher({
    guard,
    clock: systemClock,
    randomness: { fraction: () => 1 },
    observe: () => undefined,
  });
  try {
    return await pool.dispatch(attemptOf(endpointFunction(url)));
  } finally {
    await pool.stop();
  }
}

/** Each leads to the canary, or to something as private, if it is not judged by what it means. */
const spellings = [
  'http://127.0.0.1:PORT/',
  'http://127.1:PORT/',
  'http://127.0.1:PORT/',
  'http://2130706433:PORT/',
  'http://0x7f000001:PORT/',
  'http://0x7f.1:PORT/',
  'http://0x7f.0x0.0x0.0x1:PORT/',
  'http://0177.0.0.1:PORT/',
  'http://0177.1:PORT/',
  'http://017700000001:PORT/',
  'http://127.0.0.1.:PORT/',
  'http://127.255.255.254:PORT/',
  'http://１２７.０.０.１:PORT/',
  'http://①②⑦.⓪.⓪.①:PORT/',
  'http://127。0。0。1:PORT/',
  'http://127%2e0%2e0%2e1:PORT/',
  'http:127.0.0.1:PORT/',
  'http:\\\\127.0.0.1:PORT\\',
  'http://\t127.0.0.1:PORT/',
  ' http://127.0.0.1:PORT/ ',
  'HTTP://127.0.0.1:PORT/',
  'http://0:PORT/',
  'http://0.0.0.0:PORT/',
  'http://[::1]:PORT/',
  'http://[::]:PORT/',
  'http://[0:0:0:0:0:0:0:1]:PORT/',
  'http://[::ffff:127.0.0.1]:PORT/',
  'http://[::ffff:7f00:1]:PORT/',
  'http://[::127.0.0.1]:PORT/',
  'http://[64:ff9b::127.0.0.1]:PORT/',
  'http://[2002:7f00:1::]:PORT/',
  'http://[2001:0:1:2:3:4:80ff:fffe]:PORT/',
  'http://[fe80::1]:PORT/',
  'http://[fd00:ec2::254]:PORT/',
  'http://169.254.169.254:PORT/latest/meta-data/',
  'http://2852039166:PORT/',
  'http://100.100.100.200:PORT/',
  'http://168.63.129.16:PORT/',
  'http://localhost:PORT/',
  'http://LOCALHOST:PORT/',
  'http://localhost.:PORT/',
  'http://a.localhost:PORT/',
  'http://evil.test:PORT/',
  'http://EVIL。test:PORT/',
  'http://evil6.test:PORT/',
  'http://mixed.test:PORT/',
  'http://metadata.test:PORT/',
  'https://127.0.0.1:PORT/',
];

/** Wrong in themselves. */
const unusable = [
  'http://user:word@public.test/',
  'http://user@public.test/',
  'http://public.test@127.0.0.1:PORT/',
  'ftp://public.test/',
  'file:///etc/passwd',
  'gopher://127.0.0.1:PORT/',
  'javascript:alert(1)',
  'unix:/var/run/docker.sock',
  '//127.0.0.1:PORT/',
  '127.0.0.1:PORT',
  'http://',
  'http://[::1',
  'http://127.0.0.1:99999/',
  'http://256.256.256.256/',
  '',
];

const atCanary = (url: string): string => url.replaceAll('PORT', String(canary.port));

describe('a place that is not public', () => {
  it.each(spellings)('is refused however it is spelt: %s', async (spelling) => {
    const url = atCanary(spelling);
    const problem = await guardOf().problemOf(url);
    expect(problem).toMatch(/public/);
    expect(problem).toMatch(/DROVER_ENDPOINT_HOSTS/);
    expect(await callThrough(guardOf(), url)).toMatchObject({ kind: 'failed', code: 'POOL_ERROR', transient: false });
    expect(hits).toBe(0);
  });

  it.each(unusable)('is not reached through a URL that is wrong in itself: %s', async (text) => {
    const url = atCanary(text);
    expect(await guardOf({ allow: 'loopback' }).problemOf(url)).toBeTypeOf('string');
    expect(await callThrough(guardOf({ allow: 'loopback' }), url)).toMatchObject({
      code: 'POOL_ERROR',
      transient: false,
    });
    expect(hits).toBe(0);
  });

  it('is not reached by a redirect of a place that is allowed', async () => {
    const redirecting = await ForeignEndpoint.http((_request, response) => {
      response.writeHead(307, { location: atCanary('http://127.0.0.1:PORT/') }).end();
    });
    try {
      const guard = guardOf({ allow: `127.0.0.1:${redirecting.port}` });
      expect(await callThrough(guard, redirecting.url)).toMatchObject({ code: 'POOL_ERROR', transient: false });
      expect(redirecting.connections).toBe(1);
      expect(hits).toBe(0);
    } finally {
      await redirecting.close();
    }
  });

  it('is not reached by a name that means something else when it is asked again', async () => {
    let asked = 0;
    const lookup = (): Promise<LookupAddress[]> => Promise.resolve([v4(asked++ === 0 ? '8.8.8.8' : '127.0.0.1')]);
    const clock = new FakeClock();
    const guard = guardOf({ lookup, clock });
    const url = atCanary('http://rebinding.test:PORT/');
    expect(await guard.problemOf(url)).toBeUndefined();
    // Registered while it was public; by the time of the call it is not.
    await clock.advance(10_000);
    expect(await callThrough(guard, url)).toMatchObject({ code: 'POOL_ERROR', transient: false });
    expect(asked).toBe(2);
    expect(hits).toBe(0);
  });

  it('is the place that was judged that is connected to, asked for once', async () => {
    let asked = 0;
    // Only the first answer is allowed; a second look-up would lead to an address without a server.
    const lookup = (): Promise<LookupAddress[]> => Promise.resolve([v4(asked++ === 0 ? '127.0.0.1' : '127.9.9.9')]);
    const guard = guardOf({ lookup, allow: '127.0.0.1' });
    const url = atCanary('http://Rebinding.test:PORT/');
    expect(await callThrough(guard, url)).toEqual({ kind: 'success', output: { json: '"canary"' } });
    expect(asked).toBe(1);
    expect(hosts).toEqual([`rebinding.test:${canary.port}`]);
  });
});

describe('a place that is allowed', () => {
  it.each([
    ['127.0.0.1', 'http://127.1:PORT/'],
    ['127.0.0.0/8', 'http://[::ffff:7f00:1]:PORT/'],
    ['127.0.0.1:PORT', 'http://evil.test:PORT/'],
    ['evil.test', 'http://evil.test:PORT/'],
    ['*.test:PORT', 'http://evil.test:PORT/'],
    ['localhost', 'http://localhost.:PORT/'],
  ])('%s opens %s', async (allow, url) => {
    const guard = guardOf({ allow: atCanary(allow) });
    expect(await guard.problemOf(atCanary(url))).toBeUndefined();
    expect(await callThrough(guard, atCanary(url))).toMatchObject({ kind: 'success' });
    expect(hits).toBe(1);
  });

  it.each([
    ['127.0.0.1:1', 'http://127.0.0.1:PORT/'],
    ['evil.test', 'http://127.0.0.1:PORT/'],
    ['evil.test', 'http://mixed.test:PORT/'],
    ['8.8.8.8', 'http://mixed.test:PORT/'],
    ['*.evil.test', 'http://evil.test:PORT/'],
  ])('%s does not open %s', async (allow, url) => {
    const guard = guardOf({ allow });
    expect(await guard.problemOf(atCanary(url))).toMatch(/not.*public/);
    expect(await callThrough(guard, atCanary(url))).toMatchObject({ code: 'POOL_ERROR', transient: false });
    expect(hits).toBe(0);
  });

  it('is loopback by the entry that names it, and nothing beside it', async () => {
    const guard = guardOf({ allow: 'loopback' });
    for (const url of [
      'http://127.0.0.1:PORT/',
      'http://localhost:PORT/',
      'http://[::1]:PORT/',
      'http://evil.test:PORT/',
    ])
      expect(await guard.problemOf(atCanary(url))).toBeUndefined();
    for (const url of [
      'http://0.0.0.0/',
      'http://[::]/',
      'http://10.0.0.1/',
      'http://[64:ff9b::7f00:1]/',
      'http://metadata.test/',
    ])
      expect(await guard.problemOf(url)).toMatch(/not.*public/);
    expect(await callThrough(guard, atCanary('http://localhost:PORT/'))).toMatchObject({ kind: 'success' });
  });

  it('may have several addresses, of which one answers', async () => {
    const guard = guardOf({ allow: 'loopback' });
    expect(await callThrough(guard, atCanary('http://both.test:PORT/'))).toMatchObject({ kind: 'success' });
    const gone = await ForeignEndpoint.meeting(() => undefined);
    const { port } = gone;
    await gone.close();
    expect(await callThrough(guard, `http://both.test:${port}/`)).toMatchObject({
      code: 'POOL_ERROR',
      transient: true,
    });
  });

  it('is everything public, and names that do not resolve yet', async () => {
    for (const url of [
      'https://8.8.8.8/',
      'http://[2606:4700::1]/',
      'http://public.test/a?b#c',
      'http://unknown.test/',
      'http://empty.test/',
    ])
      expect(await guardOf().problemOf(url)).toBeUndefined();
    expect(await callThrough(guardOf(), 'http://unknown.test/')).toMatchObject({
      transient: true,
      message: 'http://unknown.test has a host name that does not resolve',
    });
    expect(await callThrough(guardOf(), 'http://empty.test/')).toMatchObject({ transient: true });
  });

  it('does not make a registration wait for a resolver that does not answer', async () => {
    const clock = new FakeClock();
    const asking = guardOf({ clock, lookup: () => new Promise(() => undefined) }).problemOf('http://slow.test/');
    await clock.advance(3_000);
    expect(await asking).toBeUndefined();
    expect(clock.pending).toBe(0);
  });
});

describe('a refusal', () => {
  it.each([
    ['http://127.0.0.1:8080/', '127.0.0.1:8080'],
    ['http://[::1]:8080/', '[::1]:8080'],
    ['http://localhost/', 'localhost:80'],
    ['http://LocalHost.:81/', 'localhost:81'],
  ])('of this machine says how to allow it: %s', async (url, entry) => {
    const problem = await guardOf().problemOf(url);
    expect(problem).toContain(`add ${entry} to DROVER_ENDPOINT_HOSTS; the entry "loopback" allows every port`);
    expect(await guardOf({ allow: entry }).problemOf(url)).toBeUndefined();
    expect(await guardOf({ allow: 'loopback' }).problemOf(url)).toBeUndefined();
  });

  it('does not say where a name leads', async () => {
    const results = [
      await guardOf().problemOf('http://metadata.test/'),
      JSON.stringify(await callThrough(guardOf(), 'http://metadata.test/')),
    ];
    for (const text of results) {
      expect(text).toContain('metadata.test has an address that is not public');
      expect(text).toContain('metadata.test:80 to DROVER_ENDPOINT_HOSTS');
      expect(text).not.toContain('169.254');
    }
  });
});
