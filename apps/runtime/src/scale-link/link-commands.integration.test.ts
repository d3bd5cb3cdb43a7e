import { failure, message, ScriptedWorker } from '@drover/function-rpc/testing';
import {
  ScaleLinkClient,
  type AttachedRuntime,
  type ControllerMessage,
  type HostedApplication,
  type RuntimeMessage,
} from '@drover/scale-link';
import { Attachments, hostedApplication, MemoryScaleLink } from '@drover/scale-link/testing';
import { systemClock, systemRandomness } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { version, workerBenches, type WorkerBench } from '../worker-side.test.fixture.js';
import { LinkCommands, type CommandedApplications } from './link-commands.js';
import { LinkedWorkers } from './linked-workers.js';

type Answer = Extract<RuntimeMessage, { readonly kind: 'answer' }>;
type Draft = ControllerMessage extends infer M ? (M extends unknown ? Omit<M, 'token' | 'commandId'> : never) : never;

const { open: openBench } = workerBenches();
const v1 = version('v1');
const v1Key = 'tenant/app:v1';
const clients: ScaleLinkClient[] = [];

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.stop()));
});

/** A scale controller in memory. */
class Controller {
  readonly runtimes: AttachedRuntime[] = [];
  readonly received: RuntimeMessage[] = [];
  readonly #attachments = new Attachments({
    clock: systemClock,
    onRefused: (_address, reason) => expect.unreachable(reason),
    onAttached: (runtime) => {
      this.runtimes.push(runtime);
      return { received: (one) => this.received.push(one), detached: () => undefined };
    },
  });
  readonly link = new MemoryScaleLink((stream) => this.#attachments.accept(stream));
  token = 1;
  #commandId = 0;

  /** Sends a command and resolves with its answer. */
  async command(draft: Draft, token = this.token): Promise<Answer> {
    const commandId = this.send(draft, token);
    return await this.answerTo(commandId);
  }

  send(draft: Draft, token = this.token): number {
    const commandId = (this.#commandId += 1);
    this.runtimes.at(-1)?.send({ ...draft, token, commandId });
    return commandId;
  }

  answerTo(commandId: number): Promise<Answer> {
    return eventually(() => {
      const answer = this.received.find((one): one is Answer => one.kind === 'answer' && one.commandId === commandId);
      if (!answer) throw new Error(`command ${commandId} has no answer`);
      return answer;
    });
  }

  /** States of a worker, as they were reported. */
  statesOf(workerId: string): string[] {
    return this.received.flatMap((one) =>
      one.kind === 'worker' && one.worker.workerId === workerId ? [one.worker.state] : [],
    );
  }

  requests(): Extract<RuntimeMessage, { readonly kind: 'request' }>[] {
    return this.received.filter((one) => one.kind === 'request');
  }
}

/** Applications that record what they were told; their versions are those of the bench. */
class RecordedApplications implements CommandedApplications {
  readonly #generations: Record<string, number> = { 'tenant/app': 1 };
  readonly told: string[] = [];
  find: CommandedApplications['find'] = () => Promise.resolve(undefined);
  hosting: Promise<void> = Promise.resolve();

  async host({ tenantId, applicationId, generation }: HostedApplication): Promise<void> {
    this.told.push('host');
    await this.hosting;
    this.#generations[`${tenantId}/${applicationId}`] = generation;
    this.told.push('hosted');
  }

  generations(): Readonly<Record<string, number>> {
    return this.#generations;
  }

  async remove(application: string): Promise<void> {
    this.told.push(`remove ${application}`);
  }

  async park(application: string): Promise<void> {
    this.told.push(`park ${application}`);
  }

  synced(): void {
    this.told.push('synced');
  }

  requestAgain(): void {
    this.told.push('request again');
  }
}

async function open(): Promise<{
  readonly bench: WorkerBench;
  readonly controller: Controller;
  readonly applications: RecordedApplications;
  readonly workers: LinkedWorkers;
  readonly connect: (
    workerId: string,
    script?: Parameters<typeof ScriptedWorker.connect>[0]['script'],
  ) => Promise<ScriptedWorker>;
}> {
  const controller = new Controller();
  const applications = new RecordedApplications();
  const client = new ScaleLinkClient({
    open: [controller.link.open],
    onDetached: () => undefined,
    onUnreachable: () => undefined,
    clock: systemClock,
    randomness: systemRandomness,
  });
  clients.push(client);
  const made: LinkedWorkers[] = [];
  const environment = { DROVER_SCALE_LINK_URL: 'http://127.0.0.1:1', DROVER_SCALE_LINK_TOKEN: 'token' };
  const bench = await openBench(environment, ({ registry }, { observe }) => {
    made.push(new LinkedWorkers({ link: client, registry, observe }));
    return made[0] ?? expect.unreachable();
  });
  const [workers] = made;
  if (!workers) throw new Error('the bench made no scale control');
  const { registry, admission, lifecycle, deployments } = bench.side;
  void deployments.deploy(v1);
  applications.find = (key) => Promise.resolve(deployments.find(key));
  client.serve(
    new LinkCommands({
      runtimeId: 'runtime-1',
      incarnation: 'one',
      areDebugged: true,
      addresses: () => ({ endpoint: bench.side.listeners.loopback, functionsUrl: 'http://127.0.0.1:2' }),
      link: client,
      workers,
      applications,
      registry,
      admission,
      lifecycle,
      specializer: bench.specializer,
      clock: bench.clock,
      observe: (observation) => void bench.observed.push(observation),
    }),
  );
  await client.start();
  await eventually(() => expect(controller.runtimes).toHaveLength(1));
  const connect: Awaited<ReturnType<typeof open>>['connect'] = (workerId, script = {}) =>
    ScriptedWorker.connect({ url: bench.url, workerId, requestId: `${workerId}-word`, script });
  return { bench, controller, applications, workers, connect };
}

const expectWorker = (workerId: string, versionKey?: string, isIsolated = false): Draft => ({
  kind: 'expect',
  workerId,
  requestId: `${workerId}-word`,
  versionKey,
  isIsolated,
});

describe('commands of the scale controller', () => {
  it('announce a placeholder, give it an application and drain it; each step is reported', async () => {
    const { controller, connect, bench } = await open();
    expect(await controller.command(expectWorker('p1'))).toEqual({ kind: 'answer', commandId: 1 });
    const worker = await connect('p1', { invoke: () => ({ string: 'served' }) });
    await eventually(() => expect(controller.statesOf('p1')).toEqual(['placeholder']));
    const specialize: Draft = { kind: 'specialize', workerId: 'p1', versionKey: v1Key, isIsolated: false };
    expect(await controller.command(specialize)).not.toHaveProperty('error');
    expect(controller.statesOf('p1').at(-1)).toBe('ready');
    const reports = controller.received.flatMap((one) => (one.kind === 'worker' ? [one.worker] : []));
    expect(reports.map(({ versionKey }) => versionKey)).toEqual([undefined, v1Key, v1Key, v1Key]);
    expect(worker.inbox.received.map(({ kind }) => kind)).toContain('functionEnvironmentReloadRequest');
    expect((await bench.invoke('tenant/app:m1')).kind).toBe('succeeded');
    // The controller may repeat a command whose answer was lost.
    expect(await controller.command(specialize)).not.toHaveProperty('error');
    expect(await controller.command({ kind: 'drain', workerId: 'p1', withinMs: 1_000 })).not.toHaveProperty('error');
    await worker.inbox.ended;
    await eventually(() => expect(controller.statesOf('p1').slice(-2)).toEqual(['draining', 'gone']));
    expect(controller.requests()).toEqual([]);
  });

  it('start a worker of a version from a process without its settings: it gets them as a placeholder does', async () => {
    const { controller, connect, bench } = await open();
    await controller.command(expectWorker('w1', v1Key));
    const worker = await connect('w1');
    await bench.until('w1', 'ready');
    expect(worker.inbox.received.map(({ kind }) => kind)).toEqual([
      'workerInitRequest',
      'functionEnvironmentReloadRequest',
      'functionsMetadataRequest',
      'functionLoadRequest',
    ]);
    expect(worker.inbox.received[0]).toMatchObject({
      value: { functionAppDirectory: '', capabilities: { DroverReconnect: '1' } },
    });
    expect(bench.side.registry.get('w1')?.isDebugged).toBe(true);
    expect(controller.statesOf('w1')).toEqual(['specializing', 'specializing', 'ready']);
  });

  it('hold a worker that returns to a restarted runtime before it is announced', async () => {
    const { controller, connect, bench } = await open();
    const early = await connect('w1');
    await eventually(() => expect(bench.clock.pending).toBeGreaterThan(0));
    await controller.command(expectWorker('w1', v1Key));
    await bench.until('w1', 'ready');
    expect(early.stream.ended).toBeUndefined();
  });

  it('do not hold a worker that is never announced, or that presents another request id', async () => {
    const { controller, connect, bench } = await open();
    const stranger = await connect('stranger');
    await eventually(async () => {
      await bench.clock.advance(10_000);
      expect(stranger.stream.ended?.kind).toBe('error');
    });
    const thief = await ScriptedWorker.connect({ url: bench.url, workerId: 'w1', requestId: 'guessed' });
    await controller.command(expectWorker('w1', v1Key));
    expect((await thief.inbox.ended).kind).toBe('error');
    await connect('w1');
    await bench.until('w1', 'ready');
  });

  it('are refused with a lower token than the highest that was seen', async () => {
    const { controller, bench, applications } = await open();
    controller.token = 7;
    await controller.command({ kind: 'park', application: 'tenant/app' });
    const answer = await controller.command({ kind: 'park', application: 'tenant/app' }, 6);
    expect(answer.error?.code).toBe('SCALE_LINK_FENCED');
    expect(applications.told.filter((one) => one.startsWith('park'))).toHaveLength(1);
    expect(bench.kinds()).toContain('link.fenced');
    expect(await controller.command({ kind: 'park', application: 'tenant/app' }, 8)).not.toHaveProperty('error');
  });

  it('about one application run in order, and an announced worker waits for its application', async () => {
    const { controller, applications } = await open();
    let finish: () => void = () => undefined;
    applications.hosting = new Promise((resolve) => (finish = resolve));
    const application = hostedApplication({ tenantId: 'tenant', applicationId: 'app', generation: 4 });
    const host = controller.send({ kind: 'host', application });
    const announced = controller.send(expectWorker('w1', v1Key));
    const park = controller.send({ kind: 'park', application: 'tenant/app' });
    const other = controller.send({ kind: 'park', application: 'tenant/other' });
    await controller.answerTo(other);
    expect(applications.told.filter((one) => one !== 'request again')).toEqual(['host', 'park tenant/other']);
    expect(controller.received.some((one) => one.kind === 'answer' && one.commandId !== other)).toBe(false);
    finish();
    for (const id of [host, announced, park]) await controller.answerTo(id);
    expect(applications.told.slice(-2)).toEqual(['hosted', 'park tenant/app']);
    controller.link.disconnect('the controller died');
    await eventually(() => expect(controller.runtimes).toHaveLength(2));
    expect(controller.runtimes[1]?.attach.applications).toEqual({ 'tenant/app': 4 });
  });

  it('about a worker wait for its application, which may be sent after them', async () => {
    const { controller, bench } = await open();
    const announced = controller.send(expectWorker('w1', 'tenant/late:v1'));
    await controller.command({ kind: 'park', application: 'tenant/app' });
    expect(bench.side.admission.isExpected('w1')).toBe(false);
    const application = hostedApplication({ tenantId: 'tenant', applicationId: 'late' });
    controller.send({ kind: 'host', application });
    expect(await controller.answerTo(announced)).not.toHaveProperty('error');
    expect(bench.side.admission.isExpected('w1')).toBe(true);
  });

  it('say that everything is there only when all of it is hosted', async () => {
    const { controller, applications } = await open();
    let finish: () => void = () => undefined;
    applications.hosting = new Promise((resolve) => (finish = resolve));
    controller.send({ kind: 'host', application: hostedApplication({ tenantId: 'tenant', applicationId: 'app' }) });
    const synced = controller.send({ kind: 'synced' });
    await controller.command({ kind: 'park', application: 'tenant/other' });
    expect(applications.told).not.toContain('synced');
    finish();
    await controller.answerTo(synced);
    expect(applications.told.slice(-2)).toEqual(['hosted', 'synced']);
  });

  it('never give a worker to a second application', async () => {
    const { controller, connect, bench } = await open();
    void bench.side.deployments.deploy(version('v2'));
    await controller.command(expectWorker('p1'));
    await connect('p1');
    await eventually(() => expect(controller.statesOf('p1')).toEqual(['placeholder']));
    const both = [v1Key, 'tenant/app:v2'].map((versionKey) =>
      controller.send({ kind: 'specialize', workerId: 'p1', versionKey, isIsolated: false }),
    );
    const answers = await Promise.all(both.map((id) => controller.answerTo(id)));
    expect(answers.map(({ error }) => error?.code)).toEqual([undefined, 'SCALE_LINK_WORKER_UNKNOWN']);
    const late = await controller.command({
      kind: 'specialize',
      workerId: 'p1',
      versionKey: 'tenant/app:v2',
      isIsolated: false,
    });
    expect(late.error?.code).toBe('SCALE_LINK_WORKER_TAKEN');
    expect(bench.side.registry.get('p1')?.applicationKey).toBe(v1Key);
  });

  it('say what is wrong with an unknown worker, an unknown version and code that does not load', async () => {
    const { controller, connect } = await open();
    const specialize = (workerId: string, versionKey: string): Promise<Answer> =>
      controller.command({ kind: 'specialize', workerId, versionKey, isIsolated: false });
    expect((await specialize('missing', v1Key)).error?.code).toBe('SCALE_LINK_WORKER_UNKNOWN');
    const refusal = message('functionEnvironmentReloadResponse', { result: failure('no such directory') });
    await controller.command(expectWorker('p1'));
    await connect('p1', {
      answer: ({ kind }) => (kind === 'functionEnvironmentReloadRequest' ? refusal : undefined),
    });
    await eventually(() => expect(controller.statesOf('p1')).toEqual(['placeholder']));
    expect((await specialize('p1', 'tenant/app:v9')).error?.code).toBe('SCALE_LINK_VERSION_NOT_HOSTED');
    const { error } = await specialize('p1', v1Key);
    expect(error?.code).toBe('RUNTIME_SPECIALIZATION_FAILED');
    expect(error?.message).toContain('no such directory');
    const gone = controller.received.findLast((one) => one.kind === 'worker');
    expect(gone).toMatchObject({ worker: { workerId: 'p1', state: 'gone', versionKey: v1Key } });
  });
});

describe('requests for workers', () => {
  it('replace a lost worker, and say which one', async () => {
    const { controller, connect, bench } = await open();
    await controller.command(expectWorker('w1', v1Key));
    const worker = await connect('w1');
    await bench.until('w1', 'ready');
    worker.stream.destroy(1, 'killed');
    await eventually(() =>
      expect(controller.requests()).toEqual([
        {
          kind: 'request',
          application: 'tenant/app',
          versionKey: v1Key,
          priority: 'urgent',
          reason: 'worker-crash',
          replaces: 'w1',
          isIsolated: false,
        },
      ]),
    );
    const gone = controller.received.findLast((one) => one.kind === 'worker');
    expect(gone).toMatchObject({
      worker: { state: 'gone', reason: expect.stringContaining('it cancelled its stream') },
    });
  });

  it('that were open when the link broke are sent again, until a worker is ready', async () => {
    const { controller, workers, connect, bench, applications } = await open();
    workers.requestWorker({ applicationKey: v1Key, priority: 'urgent', reason: 'wake', replaces: undefined });
    await eventually(() => expect(controller.requests()).toHaveLength(1));
    controller.link.disconnect('the controller died');
    await eventually(() => expect(controller.requests()).toHaveLength(2));
    expect(applications.told).toEqual(['request again', 'request again']);
    await controller.command(expectWorker('w1', v1Key));
    await connect('w1');
    await bench.until('w1', 'ready');
    controller.link.disconnect('it died again');
    await eventually(() => expect(controller.runtimes).toHaveLength(3));
    expect(controller.runtimes[2]?.attach.workers).toEqual([
      { workerId: 'w1', state: 'ready', versionKey: v1Key, stepsMs: { process: 0, connect: 0, reload: 0, load: 0 } },
    ]);
    await controller.command({ kind: 'park', application: 'tenant/other' });
    expect(controller.requests()).toHaveLength(2);
  });

  it('wait while memory is short', async () => {
    const { controller, workers } = await open();
    workers.suspendStarts();
    workers.requestWorker({ applicationKey: v1Key, priority: 'urgent', reason: 'wake', replaces: undefined });
    await controller.command({ kind: 'park', application: 'tenant/other' });
    expect(controller.requests()).toEqual([]);
    workers.resumeStarts();
    await eventually(() => expect(controller.requests()).toHaveLength(1));
  });

  it('for isolated invocations are for a worker of their own, which a placeholder becomes', async () => {
    const { controller, workers, connect, bench } = await open();
    expect(workers.isolate(v1Key)).toBe(true);
    await eventually(() => expect(controller.requests()).toMatchObject([{ versionKey: v1Key, isIsolated: true }]));
    await controller.command(expectWorker('p1'));
    await connect('p1');
    await eventually(() => expect(controller.statesOf('p1')).toEqual(['placeholder']));
    await controller.command({ kind: 'specialize', workerId: 'p1', versionKey: v1Key, isIsolated: true });
    expect(bench.side.registry.get('p1')).toMatchObject({ isIsolated: true, limit: 1 });
    expect(bench.side.jobHosts.get('tenant/app:m1')?.router.size).toBe(0);
    expect(workers.isolate(v1Key)).toBe(true);
    await controller.command({ kind: 'park', application: 'tenant/other' });
    expect(controller.requests()).toHaveLength(1);
  });
});
