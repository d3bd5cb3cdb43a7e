import { runtimeCallPath } from '@drover/contracts';
import { eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { hostingBenches, httpBindings, storedIndex, type HostingBench } from './hosting-bench.test.fixture.js';

const benches = hostingBenches();

/** Answers with the name of its worker. */
const saying = (text: string) => ({ invoke: () => ({ http: { statusCode: '200', body: { string: text } } }) });

async function jobHostStops(bench: HostingBench): Promise<void> {
  await eventually(() => expect(bench.side.jobHosts.size).toBe(0));
}

describe('an application at zero', () => {
  it('has no job host, no worker and no request for one, and its functions are listed', async () => {
    const bench = await benches.open();
    await bench.hosted.host(await bench.application('shop', { hello: httpBindings('hello') }));
    expect(bench.side.jobHosts.size).toBe(0);
    expect(bench.requested).toEqual([]);
    const listed = await fetch(`${bench.url}/admin/applications`);
    expect(await listed.json()).toMatchObject({
      applications: [{ name: 'default/shop', functions: [{ name: 'hello', trigger: 'httpTrigger' }] }],
      problems: [],
    });
  });

  it('holds an HTTP request, asks urgently for one worker, and answers when it is ready', async () => {
    const bench = await benches.open();
    const shop = await bench.application('shop', { hello: httpBindings('hello') });
    await bench.hosted.host(shop);
    await bench.placeholder('w1', saying('from w1'));
    const answers = [1, 2, 3].map(async () => await (await fetch(`${bench.url}/api/hello`)).text());
    await eventually(() => expect(bench.requested).toHaveLength(1));
    expect(bench.requested).toEqual([
      { applicationKey: 'default/shop:c1', priority: 'urgent', reason: 'wake', replaces: undefined },
    ]);
    const [version] = shop.versions;
    if (version) await bench.specialize('w1', version);
    expect(await Promise.all(answers)).toEqual(['from w1', 'from w1', 'from w1']);
  });

  it('is woken by a call of the control plane, which learns where the time went', async () => {
    const bench = await benches.open();
    const shop = await bench.application('shop', { hello: httpBindings('hello') });
    await bench.hosted.host(shop);
    await bench.placeholder('w1', saying('done'));
    const called = fetch(bench.url + runtimeCallPath('default', 'shop', 'hello'), { method: 'POST', body: '{}' });
    await eventually(() => expect(bench.requested).toHaveLength(1));
    const [version] = shop.versions;
    if (version) await bench.specialize('w1', version);
    const answer = await called;
    const bytes = Number(answer.headers.get('x-drover-head-bytes'));
    const head = JSON.parse((await answer.text()).slice(0, bytes)) as { coldStartMs: Record<string, number> };
    expect(Object.keys(head.coldStartMs)).toEqual(['queued', 'decided', 'process', 'connect', 'reload', 'load', 'run']);
    expect(head.coldStartMs['decided']).toBeGreaterThan(0);
    // The placeholder was there before the call.
    expect(head.coldStartMs).toMatchObject({ process: 0, connect: 0 });
    const [waited] = bench.of('invocation.waited');
    expect(waited).toMatchObject({ function: 'hello', isColdStart: true, stepsMs: head.coldStartMs });
    expect(waited?.trace).toBeDefined();
  });

  it('is woken by the work that one of its triggers has', async () => {
    const bench = await benches.open();
    const timer = [
      { type: 'timerTrigger', direction: 'in', name: 'timer', schedule: '* * * * * *', useMonitor: false },
    ];
    const ticks = await bench.application('ticks', { tick: timer });
    await bench.hosted.host(ticks);
    await eventually(() => expect(bench.requested).toHaveLength(1));
    await eventually(() => expect(bench.side.jobHosts.size).toBe(1));
    await bench.worker('w1', ticks.versions[0]);
    await eventually(() => expect(bench.of('invocation.ended').length).toBeGreaterThan(0));
  });

  it('refuses a call with the reason when its code cannot be loaded, and tries another worker later', async () => {
    const bench = await benches.open();
    const shop = await bench.application('shop', { hello: httpBindings('hello') });
    await bench.hosted.host(shop);
    const waiting = fetch(`${bench.url}/api/hello`, { signal: AbortSignal.timeout(60_000) });
    await eventually(() => expect(bench.requested).toHaveLength(1));
    await bench.placeholder('w1', {
      answer: (received) =>
        received.kind === 'functionLoadRequest'
          ? {
              kind: 'functionLoadResponse',
              value: {
                functionId: received.value.functionId,
                result: { status: 0, exception: { message: 'no such module' } },
              },
            }
          : undefined,
    });
    const [version] = shop.versions;
    expect(version && (await bench.specialize('w1', version))).toBe(false);
    const refused = await fetch(`${bench.url}/api/hello`);
    expect(refused.status).toBe(503);
    expect(bench.hosted.problems()).toMatchObject([{ application: 'shop', problem: /no such module/ }]);
    await bench.worker('w2', version, saying('repaired'));
    expect(await (await waiting).text()).toBe('repaired');
    expect(bench.hosted.problems()).toEqual([]);
  });

  it('lets a call with a large body wait for its worker, whose size limit is that of a streaming one', async () => {
    const bench = await benches.open({ DROVER_RPC_MAX_MESSAGE_BYTES: '2000000' });
    const shop = await bench.application('shop', { hello: httpBindings('hello') });
    await bench.hosted.host(shop);
    const body = Buffer.alloc(100_000, 'x');
    const answer = fetch(`${bench.url}/api/hello`, { method: 'POST', body });
    await eventually(() => expect(bench.requested).toHaveLength(1));
    await bench.worker('w1', shop.versions[0], saying('taken'));
    expect(await (await answer).text()).toBe('taken');
  });

  it('bounds the calls that wait, and refuses the others at once', async () => {
    const bench = await benches.open({ DROVER_MAX_WAITING_INVOCATIONS: '2' });
    const shop = await bench.application('shop', { hello: httpBindings('hello') });
    await bench.hosted.host(shop);
    const answers = Array.from({ length: 5 }, () => fetch(`${bench.url}/api/hello`));
    await eventually(() => expect(bench.of('http.request').filter(({ status }) => status === 429)).toHaveLength(3));
    await bench.worker('w1', shop.versions[0], saying('served'));
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(statuses.toSorted((one, other) => one - other)).toEqual([200, 200, 429, 429, 429]);
  });
});

it('lets requests wait after a start, until it is told what it hosts', async () => {
  const bench = await benches.open();
  const shop = await bench.application('shop', { hello: httpBindings('hello') });
  const early = fetch(`${bench.url}/api/hello`);
  const listed = fetch(`${bench.url}/admin/applications`);
  await eventually(() => expect(bench.waiting).toBe(2));
  bench.hosted.requestAgain(); // the scale controller hears it
  await bench.hosted.host(shop);
  await bench.worker('w1', shop.versions[0], saying('served'));
  expect(await (await early).text()).toBe('served');
  expect(await (await listed).json()).toMatchObject({ applications: [{ name: 'default/shop' }] });
  expect((await fetch(`${bench.url}/api/unknown`)).status).toBe(404);
});

describe('parking', () => {
  it('closes the job host when the last worker is gone; the next request opens it again', async () => {
    const bench = await benches.open();
    const shop = await bench.application('shop', { hello: httpBindings('hello') });
    await bench.hosted.host(shop);
    await bench.worker('w1', shop.versions[0], saying('first'));
    expect(await (await fetch(`${bench.url}/api/hello`)).text()).toBe('first');
    await expect(bench.hosted.park('default/shop')).rejects.toThrow(/it has function workers/);
    await bench.drain('w1');
    await bench.hosted.park('default/shop');
    expect(bench.side.jobHosts.size).toBe(0);
    expect(bench.requested).toEqual([]);
    const second = fetch(`${bench.url}/api/hello`);
    await eventually(() => expect(bench.requested).toHaveLength(1));
    await bench.worker('w2', shop.versions[0], saying('second'));
    expect(await (await second).text()).toBe('second');
  });

  it('is refused while a call waits, and loses no call that comes while the job host closes', async () => {
    const bench = await benches.open();
    const shop = await bench.application('shop', { hello: httpBindings('hello') });
    await bench.hosted.host(shop);
    await bench.worker('w1', shop.versions[0], saying('first'));
    await bench.drain('w1');
    const parked = bench.hosted.park('default/shop');
    const answer = fetch(`${bench.url}/api/hello`);
    await parked;
    await eventually(() => expect(bench.requested).toHaveLength(1));
    await expect(bench.hosted.park('default/shop')).rejects.toThrow(/it has calls/);
    await bench.worker('w2', shop.versions[0], saying('second'));
    expect(await (await answer).text()).toBe('second');
  });

  it('requests a worker again for a new scale controller, for calls that still wait', async () => {
    const bench = await benches.open();
    const shop = await bench.application('shop', { hello: httpBindings('hello') });
    await bench.hosted.host(shop);
    const answer = fetch(`${bench.url}/api/hello`);
    await eventually(() => expect(bench.requested).toHaveLength(1));
    bench.hosted.requestAgain();
    expect(bench.requested).toHaveLength(2);
    await bench.worker('w1', shop.versions[0], saying('served'));
    expect((await answer).status).toBe(200);
    bench.hosted.requestAgain();
    expect(bench.requested).toHaveLength(2);
  });
});

describe('versions', () => {
  it('of one metadata version share a job host; a new one gets its share when it has a worker', async () => {
    const bench = await benches.open();
    const shop = await bench.application('shop', { hello: httpBindings('hello') });
    const [v1] = shop.versions;
    if (!v1) return;
    const v2 = { ...v1, codeVersion: 'c2' };
    await bench.hosted.host(shop);
    await bench.worker('w1', v1, saying('v1'));
    await bench.hosted.host({ ...shop, generation: 2, versions: [v1, v2], traffic: { c1: 0, c2: 100 } });
    expect(await (await fetch(`${bench.url}/api/hello`)).text()).toBe('v1');
    await bench.worker('w2', v2, saying('v2'));
    expect(bench.side.jobHosts.size).toBe(1);
    expect(await (await fetch(`${bench.url}/api/hello`)).text()).toBe('v2');
  });

  it('of another metadata version take over with their first worker, and the old job host closes', async () => {
    const bench = await benches.open();
    const shop = await bench.application('shop', { hello: httpBindings('hello') });
    const [v1] = shop.versions;
    if (!v1) return;
    const index = storedIndex({ hello: httpBindings('hello'), more: httpBindings('more') }, 'm2');
    const v2 = { ...v1, codeVersion: 'c2', index };
    await bench.hosted.host(shop);
    await bench.worker('w1', v1, saying('v1'));
    await bench.hosted.host({ ...shop, generation: 2, versions: [v1, v2], traffic: { c2: 100 } });
    expect(await (await fetch(`${bench.url}/api/hello`)).text()).toBe('v1');
    await bench.worker('w2', v2, saying('v2'));
    expect(await (await fetch(`${bench.url}/api/more`)).text()).toBe('v2');
    expect(await (await fetch(`${bench.url}/api/hello`)).text()).toBe('v2');
    await eventually(() => expect(bench.side.jobHosts.all().map(({ key }) => key)).toEqual(['default/shop:m2']));
  });

  it('with an older generation change nothing, and a broken version leaves what is served', async () => {
    const bench = await benches.open();
    const shop = await bench.application('shop', { hello: httpBindings('hello') });
    await bench.hosted.host({ ...shop, generation: 5 });
    await bench.hosted.host({ ...shop, generation: 4, versions: [], traffic: {} });
    const broken = await bench.application(
      'shop',
      {},
      { codeVersion: 'c2', index: storedIndex({}, 'm2'), hostJson: [] },
    );
    await expect(bench.hosted.host({ ...broken, generation: 6 })).rejects.toThrow(/host\.json/);
    expect(bench.hosted.generations()).toEqual({ 'default/shop': 5 });
    await bench.worker('w1', shop.versions[0], saying('v1'));
    expect(await (await fetch(`${bench.url}/api/hello`)).text()).toBe('v1');
  });
});

it('removes an application: its calls end, its workers drain, and it is not found any more', async () => {
  const bench = await benches.open();
  const shop = await bench.application('shop', { hello: httpBindings('hello') });
  await bench.hosted.host(shop);
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  await bench.worker('w1', shop.versions[0], {
    invoke: async () => {
      await finished;
      return { http: { statusCode: '200', body: { string: 'last' } } };
    },
  });
  const last = fetch(`${bench.url}/api/hello`);
  await eventually(() => expect(bench.side.tracker.size).toBe(1));
  const removed = bench.hosted.remove('default/shop', 5_000);
  expect((await fetch(`${bench.url}/api/hello`)).status).toBe(404);
  finish();
  expect(await (await last).text()).toBe('last');
  await removed;
  await jobHostStops(bench);
  await eventually(() => expect(bench.side.registry.size).toBe(0));
});

it('samples what applications do each second, and leaves out those at rest', async () => {
  const bench = await benches.open({ DROVER_WORKER_CONCURRENCY: '4' });
  const shop = await bench.application('shop', { hello: httpBindings('hello') });
  await bench.hosted.host(shop);
  await bench.hosted.host(await bench.application('rest', { other: httpBindings('other') }));
  const { signal } = new AbortController();
  expect(await bench.hosted.sample(signal)).toEqual([]);
  const waiting = fetch(`${bench.url}/api/hello`);
  await eventually(() => expect(bench.requested).toHaveLength(1));
  await eventually(async () =>
    expect(await bench.hosted.sample(signal)).toMatchObject([
      { application: 'default/shop', waiting: 1, capacity: 0, inFlight: 0, completions: 0 },
    ]),
  );
  await bench.worker('w1', shop.versions[0], saying('served'));
  await waiting;
  expect(await bench.hosted.sample(signal)).toMatchObject([
    {
      application: 'default/shop',
      waiting: 0,
      capacity: 4,
      completions: 1,
      failures: 0,
      versions: { c1: { completions: 1 } },
    },
  ]);
  expect(await bench.hosted.sample(signal)).toMatchObject([{ arrivals: 0, completions: 0, meanServiceMs: undefined }]);
});
