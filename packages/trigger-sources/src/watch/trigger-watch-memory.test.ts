import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { FakeClock } from '@drover/testkit';
import { expect, it } from 'vitest';
import { blobExtension } from '../blob/blob-extension.js';
import { eventHubExtension } from '../event-hubs/event-hub-extension.js';
import { queueExtension } from '../queue/queue-extension.js';
import { serviceBusExtension } from '../service-bus/service-bus-extension.js';
import { timerExtension } from '../timer/timer-extension.js';
import { WatchBench } from './watch-bench.test.fixture.js';

const applications = 400;
const triggersEach = 5;
const mostBytesPerTrigger = 4_096;

const settings = {
  Storage: 'AccountName=shop;AccountKey=c2VjcmV0',
  AzureWebJobsStorage: 'AccountName=shop;AccountKey=c2VjcmV0',
  Bus: 'Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=secret',
};

it('a watched trigger takes less than 4 KiB', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void; // what the flag adds
  const heap = (): number => {
    collect();
    collect();
    return process.memoryUsage().heapUsed;
  };
  const clock = new FakeClock();
  const bench = new WatchBench(clock);
  const watchOne = (index: number): void => {
    const name = `default/app-${index}`;
    const own = { ...settings };
    const triggers = [
      bench.park(queueExtension, own, { queueName: `orders-${index}`, connection: 'Storage' }, name),
      bench.park(serviceBusExtension, own, { queueName: `orders-${index}`, connection: 'Bus' }, name),
      bench.park(eventHubExtension, own, { eventHubName: `events-${index}`, connection: 'Bus' }, name),
      bench.park(blobExtension, own, { path: `uploads-${index}/{name}`, connection: 'Storage' }, name),
      bench.park(timerExtension, { ...own, WEBSITE_TIME_ZONE: 'Europe/Berlin' }, { schedule: '0 0 3 * * *' }, name),
    ].map((parked, place) => ({ functionName: `Function${place}`, parked }));
    bench.watch.watch({ application: name, triggers }, () => undefined);
  };
  watchOne(applications); // code that is compiled and tables that are filled once
  await clock.advance(0);
  const before = heap();
  for (let index = 0; index < applications; index += 1) watchOne(index);
  const bytes = (heap() - before) / (applications * triggersEach);
  await bench.watch.close();
  expect(bytes).toBeLessThan(mostBytesPerTrigger);
});
