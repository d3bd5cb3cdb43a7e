import { Database, databaseMigrations, migrate } from '@drover/database';
import { eventBusMigrations } from '@drover/event-bus';
import { systemClock, systemRandomness } from '@drover/service-kit';
import { Program } from '../harness/program.js';
import { largest, median, medianRatio, percentile } from '../harness/statistics.js';
import { below, times } from '../harness/table.js';
import type { Published, PublishRequest } from './bus-publisher.js';
import type { Collected, SubscribeRequest } from './bus-subscriber.js';
import type { Measurement, Surroundings } from './suite.js';

const perSecond = 1_000;
const p99LimitMs = 20;
const singles = { callers: 64, batch: 1 };
const batches = { callers: 8, batch: 100 };

/** From the publish call in one process to the handler in another. */
export async function busMeasurement({ url, leash, pace }: Surroundings): Promise<Measurement> {
  const io = { clock: systemClock, randomness: systemRandomness, observe: () => undefined };
  const database = new Database({ url, applicationName: 'bench', poolSize: 2, ...io });
  await migrate(database, [databaseMigrations, eventBusMigrations], { release: 'bench', ...io });
  await database.stop();
  const publisher = new Program<PublishRequest, Published>(new URL('bus-publisher.js', import.meta.url), leash);
  const subscriber = new Program<SubscribeRequest, Collected>(new URL('bus-subscriber.js', import.meta.url), leash);
  await Promise.all([publisher, subscriber].map((program) => program.ask({ kind: 'open', url: url.reveal() })));

  let runs = 0;
  const paces: number[] = [];
  const paced = async (): Promise<readonly number[]> => {
    const run = runs++;
    const published = await publisher.ask({ kind: 'paced', run, perSecond, durationMs: pace.pacedMs });
    paces.push(published.events / (published.durationMs / 1000));
    return (await subscriber.ask({ kind: 'collect', run, events: published.events })).latenciesMs;
  };
  const burst =
    (load: { readonly callers: number; readonly batch: number }) => async (): Promise<readonly number[]> => {
      const run = runs++;
      const { events } = await publisher.ask({ kind: 'burst', run, durationMs: pace.burstMs, ...load });
      const { firstCallAtMs, lastHandledAtMs } = await subscriber.ask({ kind: 'collect', run, events });
      return [events / ((lastHandledAtMs - firstCallAtMs) / 1000)];
    };
  return {
    contenders: [
      { name: 'bus at an even pace', run: paced },
      { name: 'bus, transactions of 1', run: burst(singles) },
      { name: 'bus, batches of 100', run: burst(batches) },
    ],
    figures(samples) {
      const [latencies = [], one = [], hundred = []] = samples.map((rounds) => rounds.flat());
      const p99 = percentile(latencies, 0.99);
      const at = `bus at ${perSecond} events/s`;
      return [
        { what: `${at}: pace kept`, value: median(paces), unit: 'events/s' },
        { what: `${at}: p50`, value: percentile(latencies, 0.5), unit: 'ms' },
        { what: `${at}: p99`, value: p99, unit: 'ms', goal: below(p99, p99LimitMs, ' ms') },
        { what: `${at}: max`, value: largest(latencies), unit: 'ms' },
        {
          what: `bus, ${singles.callers} callers, transactions of 1`,
          value: median(one),
          unit: 'events/s',
          ratio: '1x',
        },
        {
          what: `bus, ${batches.callers} callers, batches of 100`,
          value: median(hundred),
          unit: 'events/s',
          ratio: times(medianRatio(hundred, one), 'transactions of 1'),
        },
      ];
    },
    close: async () => void (await Promise.all([publisher.end(), subscriber.end()])),
  };
}
