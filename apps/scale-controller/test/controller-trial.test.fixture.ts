import { PostgresApplicationCatalog, SettingsSeal } from '@drover/application-catalog';
import type { Database } from '@drover/database';
import { createTestDatabase, quietIo, type TestDatabase } from '@drover/database/testing';
import { PostgresEventBus } from '@drover/event-bus';
import { FakeInstanceProvider } from '@drover/instance-provider/testing';
import { createLog, createMetrics, Health, systemClock, systemRandomness } from '@drover/service-kit';
import { composeScaleController, scaleControllerSchema, type ScaleControllerComposition } from '../src/compose.js';
import { parseScaleControllerConfig } from '../src/config.js';
import { ScriptedRuntime } from './scripted-runtime.test.fixture.js';

const never = new AbortController().signal;

export interface RunningController extends ScaleControllerComposition {
  readonly url: string;
  stop(): Promise<void>;
}

/** Scale controllers over a real database and real links, with instances that are no processes. */
export class ControllerTrial {
  readonly provider = new FakeInstanceProvider({ clock: systemClock });
  readonly database: Database;
  readonly catalog: PostgresApplicationCatalog;
  readonly #test: TestDatabase;
  readonly #ends: (() => Promise<void>)[] = [];

  private constructor(test: TestDatabase, database: Database, catalog: PostgresApplicationCatalog) {
    this.#test = test;
    this.database = database;
    this.catalog = catalog;
  }

  static async open(): Promise<ControllerTrial> {
    const test = await createTestDatabase(scaleControllerSchema);
    const database = await test.connect();
    const bus = new PostgresEventBus({ database, ...quietIo, observe: () => undefined });
    await bus.start(never);
    const seal = new SettingsSeal(undefined, systemRandomness);
    const catalog = new PostgresApplicationCatalog({ database, bus, seal, maxVersions: 10 });
    const trial = new ControllerTrial(test, database, catalog);
    trial.#ends.push(() => bus.stop());
    return trial;
  }

  async close(): Promise<void> {
    for (const end of this.#ends.splice(0).toReversed()) await end();
    await this.#test.drop();
  }

  async startController(settings: Record<string, string> = {}): Promise<RunningController> {
    const config = parseScaleControllerConfig({
      DATABASE_URL: this.#test.url.reveal(),
      DROVER_SCALE_LINK_TOKEN: 'link',
      DROVER_PLACEHOLDERS_MIN: '2',
      DROVER_DATABASE_POOL_SIZE: '3',
      DROVER_DATABASE_CONNECT_TIMEOUT_MS: '60000', // a connection may take seconds on a busy machine
      ...settings,
    });
    const sinks = { log: createLog('test', 'silent'), metrics: createMetrics('test') };
    const io = { sinks, health: new Health(), clock: systemClock, randomness: systemRandomness };
    const composition = composeScaleController(config, io, { provider: this.provider, release: 'test' });
    await composition.life.start(never);
    let isStopped = false;
    const stop = async (): Promise<void> => {
      if (!isStopped) await composition.life.stop();
      isStopped = true;
    };
    this.#ends.push(stop);
    return { ...composition, url: composition.announce?.()['scaleLink'] ?? '', stop };
  }

  /** With `before`: the same runtime with its workers, at the addresses of other controllers. */
  async startRuntime(controllers: readonly RunningController[], before?: ScriptedRuntime): Promise<ScriptedRuntime> {
    await before?.client.stop();
    const urls = controllers.map(({ url }) => url);
    const runtime = new ScriptedRuntime(urls, 'link', this.provider);
    for (const [id, worker] of before?.workers ?? []) runtime.workers.set(id, worker);
    for (const [id, generation] of before?.hosted ?? []) runtime.hosted.set(id, generation);
    await runtime.client.start();
    this.#ends.push(() => runtime.client.stop());
    return runtime;
  }

  /** Ids of instances that have not ended. */
  async live(): Promise<readonly string[]> {
    const instances = await this.provider.list();
    return instances.filter(({ state }) => state !== 'ended').map(({ instanceId }) => instanceId);
  }
}
