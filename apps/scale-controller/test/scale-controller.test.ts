import { codeVersionAt, sampleDeployment } from '@drover/application-catalog/testing';
import { eventually } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ControllerTrial } from './controller-trial.test.fixture.js';

const hello = { tenantId: sampleDeployment(1).tenantId, applicationId: 'hello' };
const key = 'acme/hello';

let trial: ControllerTrial;
beforeEach(async () => {
  trial = await ControllerTrial.open();
});
afterEach(() => trial.close());

describe('the scale controller', () => {
  it('hosts what is deployed, gives it a worker of the pool, explains it, and removes it', async () => {
    const controller = await trial.startController();
    const runtime = await trial.startRuntime([controller]);
    await eventually(() => runtime.states().join() === 'placeholder,placeholder');
    await trial.catalog.deploy(sampleDeployment(1, { settings: {} }));
    await eventually(() => runtime.states().join() === 'placeholder,placeholder,ready');
    expect(runtime.of('host').map(({ application }) => application.versions[0]?.directory)).toEqual(['/apps/hello-1']);
    expect(runtime.of('specialize')).toHaveLength(1);
    const report = await controller.reports.report(hello);
    expect(report).toMatchObject({ application: 'hello', workers: { desired: 1, ready: 1 } });
    expect(report?.why).toContain('1 worker');
    expect(report?.decisions[0]).toMatchObject({ desired: 1 });
    await trial.catalog.beginRemoval(hello);
    await eventually(async () => (await trial.catalog.find(hello)) === undefined);
    await eventually(() => runtime.states().join() === 'placeholder,placeholder');
    await eventually(async () => (await controller.reports.report(hello)) === undefined);
  });

  it('takes the traffic from a new version that fails, and tells the runtimes', async () => {
    const runtime = await trial.startRuntime([await trial.startController()]);
    const [one, two] = [codeVersionAt(1), codeVersionAt(2)];
    await trial.catalog.deploy(sampleDeployment(1));
    await trial.catalog.deploy(sampleDeployment(2, { trafficPercent: 30 }));
    await eventually(() => runtime.of('host').at(-1)?.application.traffic[two] === 30);
    runtime.sample(key, { [one]: { completions: 70, failures: 0 }, [two]: { completions: 30, failures: 15 } });
    await eventually(() => runtime.of('host').at(-1)?.application.traffic[one] === 100);
    expect((await trial.catalog.changes(hello))[0]).toMatchObject({
      kind: 'rolled-back-automatically',
      reason: expect.stringContaining(`${two}: 15 of 30 calls failed`),
    });
  });

  it('answers an urgent request of an application at zero with a placeholder', async () => {
    await trial.catalog.deploy(sampleDeployment(1));
    // As the leader before left it.
    await trial.database.query('insert into drover.scale_applications (application, desired) values ($1, 0)', [key]);
    const runtime = await trial.startRuntime([await trial.startController()]);
    await eventually(() => runtime.hosted.has(key) && runtime.states().join() === 'placeholder,placeholder');
    expect(runtime.of('specialize')).toEqual([]);
    runtime.wake(key);
    await eventually(() => runtime.states().includes('ready'));
    expect(runtime.of('specialize')).toHaveLength(1);
  });

  it('adopts what runs after its process was replaced: nothing is started twice, nothing is leaked', async () => {
    const first = await trial.startController();
    const runtime = await trial.startRuntime([first]);
    await trial.catalog.deploy(sampleDeployment(1, { scaling: { minWorkers: 3 } }));
    await eventually(() => runtime.states().filter((state) => state === 'ready').length === 3);
    await eventually(() => runtime.states().filter((state) => state === 'placeholder').length >= 2);
    const before = (await trial.live()).toSorted();
    await first.stop();
    await trial.provider.start(
      { instanceId: 'orphan', role: 'function-worker', labels: {}, environment: {}, args: [] },
      1,
    );
    runtime.commands.length = 0;
    const second = await trial.startController();
    const again = await trial.startRuntime([second], runtime);
    await eventually(async () => !(await trial.live()).includes('orphan'));
    await eventually(() => second.reports.report(hello).then((report) => report?.workers.ready === 3));
    expect((await trial.live()).toSorted()).toEqual(before);
    expect(again.of('expect')).toEqual([]);
    expect(again.states().filter((state) => state === 'ready')).toHaveLength(3);
  });

  it('has one leader among two; the other takes over with the same workers, and the first cannot act any more', async () => {
    const first = await trial.startController();
    const second = await trial.startController();
    const runtime = await trial.startRuntime([first, second]);
    await trial.catalog.deploy(sampleDeployment(1, { scaling: { minWorkers: 2 } }));
    await eventually(() => runtime.states().filter((state) => state === 'ready').length === 2);
    const before = await trial.live();
    await first.stop();
    await eventually(() => second.reports.report(hello).then((report) => report?.workers.ready === 2));
    expect((await trial.live()).filter((id) => !before.includes(id))).toEqual([]);
    const spec = { instanceId: 'late', role: 'function-worker' as const, labels: {}, environment: {}, args: [] };
    await expect(trial.provider.start(spec, 1)).rejects.toMatchObject({ code: 'INSTANCE_FENCED' });
  });

  it('replaces a worker that was killed', async () => {
    const controller = await trial.startController();
    const runtime = await trial.startRuntime([controller]);
    await trial.catalog.deploy(sampleDeployment(1));
    await eventually(() => runtime.states().includes('ready'));
    const killed = [...runtime.workers.values()].find(({ state }) => state === 'ready')?.workerId ?? '';
    trial.provider.crash(killed);
    await eventually(() => runtime.states().includes('ready') && !runtime.workers.has(killed));
    expect(await trial.live()).not.toContain(killed);
  });
});
