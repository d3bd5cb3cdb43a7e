import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { HostedApplication } from '@drover/scale-link';
import { eventually } from '@drover/testkit';
import { expect, it } from 'vitest';
import { hostingBenches, httpBindings, storedIndex, type HostingBench } from './hosting-bench.test.fixture.js';

const benches = hostingBenches();
const kibibyte = 1_024;
/** What an application at zero may cost. */
const mostPerApplication = 64 * kibibyte;

/** What an open job host without a worker may cost: its listeners and their clients. */
const mostPerJobHost = 512 * kibibyte;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

async function usedBytes(): Promise<number> {
  for (let turn = 0; turn < 3; turn += 1) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Applications with routes, a queue, a timer and settings of their own. Nothing listens where the queues are. */
async function applications(bench: HostingBench, count: number): Promise<HostedApplication[]> {
  const first = await bench.application('first', {});
  const [{ directory } = { directory: '' }] = first.versions;
  return Array.from({ length: count }, (_, n) => {
    const applicationId = `app-${n}`;
    const account = 'http://127.0.0.1:1/devstoreaccount1';
    const connection = `DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=a2V5;QueueEndpoint=${account}`;
    const settings = Object.fromEntries([
      ['Orders', connection],
      ...Array.from({ length: 20 }, (_unused, setting) => [`SETTING_${setting}`, `value ${setting} of ${n}`]),
    ]) as Record<string, string>;
    const index = storedIndex({
      hello: httpBindings(`app${n}/hello/{name}`),
      order: httpBindings(`app${n}/orders/{id:int}`),
      work: [{ type: 'queueTrigger', direction: 'in', name: 'item', queueName: `orders-${n}`, connection: 'Orders' }],
      tick: [{ type: 'timerTrigger', direction: 'in', name: 'timer', schedule: '0 0 0 1 1 *', useMonitor: false }],
    });
    const version = { tenantId: 'default', applicationId, codeVersion: 'c1', directory, settings, index };
    return { tenantId: 'default', applicationId, generation: 1, versions: [version], traffic: { c1: 100 } };
  });
}

it('hosts 1,000 applications at zero in at most 64 KiB each, and still after they have run', async () => {
  const bench = await benches.open();
  const count = 1_000;
  const before = await usedBytes();
  for (const application of await applications(bench, count)) await bench.hosted.host(application);
  const parked = ((await usedBytes()) - before) / count;
  expect(parked).toBeLessThan(mostPerApplication);
  expect(bench.side.jobHosts.size).toBe(0);
  expect(await bench.hosted.sample(new AbortController().signal)).toEqual([]);

  for (let n = 0; n < 200; n += 1) expect(bench.hosted.match({ url: `/api/app${n * 5}/hello/me` })).toBeDefined();

  const wokenCount = 100;
  for (let n = 0; n < wokenCount; n += 1) await bench.hosted.find(`default/app-${n}:c1`);
  expect(bench.side.jobHosts.size).toBe(wokenCount);
  for (let n = 0; n < wokenCount; n += 1) await bench.hosted.park(`default/app-${n}`);
  expect(bench.side.jobHosts.size).toBe(0);
  const parkedAgain = ((await usedBytes()) - before) / count;
  expect(parkedAgain).toBeLessThan(mostPerApplication);
});

it('serves 200 job hosts in one runtime, each with a worker, and parks them all', async () => {
  const bench = await benches.open();
  const count = 200;
  const all = await applications(bench, count);
  for (const application of all) await bench.hosted.host(application);
  const before = await usedBytes();
  const answers = all.map(async (_, n) => await (await fetch(`${bench.url}/api/app${n}/hello/me`)).text());
  await eventually(() => expect(new Set(bench.requested.map(({ applicationKey }) => applicationKey)).size).toBe(count));
  await eventually(() => expect(bench.side.jobHosts.size).toBe(count));
  expect(((await usedBytes()) - before) / count).toBeLessThan(mostPerJobHost);
  await Promise.all(
    all.map(async ({ versions: [version] }, n) =>
      bench.worker(`w${n}`, version, {
        invoke: () => ({ http: { statusCode: '200', body: { string: `answer of ${n}` } } }),
      }),
    ),
  );
  expect(await Promise.all(answers)).toEqual(all.map((_, n) => `answer of ${n}`));
  const samples = await bench.hosted.sample(new AbortController().signal);
  expect(samples).toHaveLength(count);
  await Promise.all(all.map((_, n) => bench.drain(`w${n}`)));
  await Promise.all(all.map(({ applicationId }) => bench.hosted.park(`default/${applicationId}`)));
  expect(bench.side.jobHosts.size).toBe(0);
});
