import { PostgresApplicationCatalog, SettingsSeal } from '@drover/application-catalog';
import { codeVersionAt, sampleDeployment } from '@drover/application-catalog/testing';
import { createTestDatabase, quietIo, type TestDatabase } from '@drover/database/testing';
import { PostgresEventBus } from '@drover/event-bus';
import { FakeInstanceProvider } from '@drover/instance-provider/testing';
import { createLog, createMetrics, Health, systemClock, systemRandomness } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { composeScaleController, scaleControllerSchema, type ScaleControllerComposition } from '../src/compose.js';
import { parseScaleControllerConfig } from '../src/config.js';
import { ScriptedRuntime } from './scripted-runtime.test.fixture.js';

const hello = { tenantId: sampleDeployment(1).tenantId, applicationId: 'hello' };
const key = 'acme/hello';
const never = new AbortController().signal;

let test: TestDatabase;
let catalog: PostgresApplicationCatalog;
let provider: FakeInstanceProvider;
const ends: (() => Promise<void>)[] = [];

beforeEach(async () => {
  test = await createTestDatabase(scaleControllerSchema);
  const database = await test.connect();
  const bus = new PostgresEventBus({ database, ...quietIo, observe: () => undefined });
  await bus.start(never);
  ends.push(() => bus.stop());
  const seal = new SettingsSeal(undefined, systemRandomness);
  catalog = new PostgresApplicationCatalog({ database, bus, seal, maxVersions: 10 });
  provider = new FakeInstanceProvider({ clock: systemClock });
});

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
  await test.drop();
});

interface RunningController extends ScaleControllerComposition {
  readonly url: string;
  stop(): Promise<void>;
}

async function startController(settings: Record<string, string> = {}): Promise<RunningController> {
  const config = parseScaleControllerConfig({
    DATABASE_URL: test.url.reveal(),
    DROVER_SCALE_LINK_TOKEN: 'link',
    DROVER_PLACEHOLDERS_MIN: '2',
    DROVER_DATABASE_POOL_SIZE: '3',
    ...settings,
  });
  const sinks = { log: createLog('test', 'silent'), metrics: createMetrics('test') };
  const io = { sinks, health: new Health(), clock: systemClock, randomness: systemRandomness };
  const composition = composeScaleController(config, io, { provider, release: 'test' });
  await composition.life.start(never);
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (!isStopped) await composition.life.stop();
    isStopped = true;
  };
  ends.push(stop);
  return { ...composition, url: composition.announce?.()['scaleLink'] ?? '', stop };
}

async function startRuntime(...controllers: readonly RunningController[]): Promise<ScriptedRuntime> {
  const runtime = new ScriptedRuntime(
    controllers.map(({ url }) => url),
    'link',
    provider,
  );
  await runtime.client.start();
  ends.push(() => runtime.client.stop());
  return runtime;
}

const live = async (): Promise<readonly string[]> =>
  (await provider.list()).filter(({ state }) => state !== 'ended').map(({ instanceId }) => instanceId);

describe('the scale controller', () => {
  it('hosts what is deployed, gives it a worker of the pool, explains it, and removes it', async () => {
    const controller = await startController();
    const runtime = await startRuntime(controller);
    await eventually(() => runtime.states().join() === 'placeholder,placeholder');
    await catalog.deploy(sampleDeployment(1, { settings: {} }));
    await eventually(() => runtime.states().join() === 'placeholder,placeholder,ready');
    expect(runtime.of('host').map(({ application }) => application.versions[0]?.directory)).toEqual(['/apps/hello-1']);
    expect(runtime.of('specialize')).toHaveLength(1);
    const report = await controller.reports.report(hello);
    expect(report).toMatchObject({ application: 'hello', workers: { desired: 1, ready: 1 } });
    expect(report?.why).toContain('1 worker');
    expect(report?.decisions[0]).toMatchObject({ desired: 1 });
    await catalog.beginRemoval(hello);
    await eventually(async () => (await catalog.find(hello)) === undefined);
    await eventually(() => runtime.states().join() === 'placeholder,placeholder');
    await eventually(async () => (await controller.reports.report(hello)) === undefined);
  });

  it('takes the traffic from a new version that fails, and tells the runtimes', async () => {
    const runtime = await startRuntime(await startController());
    const [one, two] = [codeVersionAt(1), codeVersionAt(2)];
    await catalog.deploy(sampleDeployment(1));
    await catalog.deploy(sampleDeployment(2, { trafficPercent: 30 }));
    await eventually(() => runtime.of('host').at(-1)?.application.traffic[two] === 30);
    runtime.sample(key, { [one]: { completions: 70, failures: 0 }, [two]: { completions: 30, failures: 15 } });
    await eventually(() => runtime.of('host').at(-1)?.application.traffic[one] === 100);
    expect((await catalog.changes(hello))[0]).toMatchObject({
      kind: 'rolled-back-automatically',
      reason: expect.stringContaining(`${two}: 15 of 30 calls failed`),
    });
  });

  it('answers an urgent request of an application at zero with a placeholder', async () => {
    await catalog.deploy(sampleDeployment(1));
    // As the leader before left it.
    await (await test.connect()).query('insert into drover.scale_applications (application, desired) values ($1, 0)', [
      key,
    ]);
    const runtime = await startRuntime(await startController());
    await eventually(() => runtime.hosted.has(key) && runtime.states().join() === 'placeholder,placeholder');
    expect(runtime.of('specialize')).toEqual([]);
    runtime.wake(key);
    await eventually(() => runtime.states().includes('ready'));
    expect(runtime.of('specialize')).toHaveLength(1);
  });

  it('adopts what runs after its process was replaced: nothing is started twice, nothing is leaked', async () => {
    const first = await startController();
    const runtime = await startRuntime(first);
    await catalog.deploy(sampleDeployment(1, { scaling: { minWorkers: 3 } }));
    await eventually(() => runtime.states().filter((state) => state === 'ready').length === 3);
    await eventually(() => runtime.states().filter((state) => state === 'placeholder').length >= 2);
    const before = (await live()).toSorted();
    await first.stop();
    await provider.start({ instanceId: 'orphan', role: 'function-worker', labels: {}, environment: {}, args: [] }, 1);
    runtime.commands.length = 0;
    const second = await startController();
    const again = await startRuntimeAgain(runtime, second);
    await eventually(async () => !(await live()).includes('orphan'));
    await eventually(() => second.reports.report(hello).then((report) => report?.workers.ready === 3));
    expect((await live()).toSorted()).toEqual(before);
    expect(again.of('expect')).toEqual([]);
    expect(again.states().filter((state) => state === 'ready')).toHaveLength(3);
  });

  it('has one leader among two; the other takes over with the same workers, and the first cannot act any more', async () => {
    const first = await startController();
    const second = await startController();
    const runtime = await startRuntime(first, second);
    await catalog.deploy(sampleDeployment(1, { scaling: { minWorkers: 2 } }));
    await eventually(() => runtime.states().filter((state) => state === 'ready').length === 2);
    const before = await live();
    await first.stop();
    await eventually(() => second.reports.report(hello).then((report) => report?.workers.ready === 2), 5_000);
    expect((await live()).filter((id) => !before.includes(id))).toEqual([]);
    const spec = { instanceId: 'late', role: 'function-worker' as const, labels: {}, environment: {}, args: [] };
    await expect(provider.start(spec, 1)).rejects.toMatchObject({ code: 'INSTANCE_FENCED' });
  });

  it('replaces a worker that was killed', async () => {
    const controller = await startController();
    const runtime = await startRuntime(controller);
    await catalog.deploy(sampleDeployment(1));
    await eventually(() => runtime.states().includes('ready'));
    const killed = [...runtime.workers.values()].find(({ state }) => state === 'ready')?.workerId ?? '';
    provider.crash(killed);
    await eventually(() => runtime.states().includes('ready') && !runtime.workers.has(killed));
    expect(await live()).not.toContain(killed);
  });
});

/** The same runtime, with its workers, at the address of another controller. */
async function startRuntimeAgain(before: ScriptedRuntime, controller: RunningController): Promise<ScriptedRuntime> {
  await before.client.stop();
  const runtime = new ScriptedRuntime([controller.url], 'link', provider);
  for (const [id, worker] of before.workers) runtime.workers.set(id, worker);
  for (const [id, generation] of before.hosted) runtime.hosted.set(id, generation);
  await runtime.client.start();
  ends.push(() => runtime.client.stop());
  return runtime;
}
