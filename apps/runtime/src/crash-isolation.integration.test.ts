import { message, type ScriptedWorker } from '@drover/function-rpc/testing';
import { eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { definition, version, workerBenches, type WorkerBench } from './worker-side.test.fixture.js';

const { open } = workerBenches();
const v1 = version('v1');
const host = 'tenant/app:m1';
const silent = {
  answer: ({ kind }: { kind?: string | undefined }) =>
    kind === 'invocationRequest' ? ('silence' as const) : undefined,
};

async function openApp(): Promise<WorkerBench> {
  const bench = await open();
  bench.indexes.set('v1', {
    functions: [definition('hello'), definition('crash')],
    problems: [],
    metadataVersion: 'm1',
  });
  void bench.side.deployments.deploy(v1);
  return bench;
}

/** A worker that dies from its next invocation. */
async function crashes(bench: WorkerBench, workerId: string, isIsolated = false): Promise<ScriptedWorker> {
  const worker = await bench.connect(workerId, { version: v1, script: silent, isIsolated });
  await bench.until(workerId, 'ready');
  return worker;
}

async function dieOf(worker: ScriptedWorker): Promise<void> {
  await worker.inbox.next('invocationRequest');
  worker.stream.destroy(1, 'crash');
}

describe('a message that ends its worker', () => {
  it('is tried once more, alone on an isolated worker, and is then poison; others are served meanwhile', async () => {
    const bench = await openApp();
    const poison = bench.call('crash', { messageId: 'm1' });
    const first = await crashes(bench, 'w1');
    const lost = bench.invoke(host, poison);
    await dieOf(first);
    expect(await lost).toMatchObject({ error: { code: 'RUNTIME_WORKER_LOST', retryable: true } });

    const main = await bench.ready('w2', v1, { invoke: () => ({ string: 'served' }) });
    const again = bench.invoke(host, poison);
    await eventually(() => expect(bench.isolated).toEqual(['tenant/app:v1']));
    expect((await bench.invoke(host)).kind).toBe('succeeded');
    const isolated = await crashes(bench, 'i1', true);
    await isolated.inbox.next('invocationRequest');
    expect((await bench.invoke(host)).kind).toBe('succeeded');
    isolated.stream.destroy(1, 'crash');
    expect((await again).kind).toBe('failed');

    expect(await bench.invoke(host, poison)).toMatchObject({
      kind: 'failed',
      error: { code: 'RUNTIME_MESSAGE_POISON', retryable: false },
    });
    const ran = main.inbox.received.flatMap((one) => (one.kind === 'invocationRequest' ? [one.value.functionId] : []));
    expect(ran).toEqual(['hello', 'hello']);
  });

  it('takes no other message with it: those run alone once, and then as always', async () => {
    const bench = await openApp();
    const worker = await crashes(bench, 'w1');
    const neighbour = bench.call('hello', { messageId: 'm2' });
    const lost = [bench.invoke(host, bench.call('crash', { messageId: 'm1' })), bench.invoke(host, neighbour)];
    await worker.inbox.next('invocationRequest');
    await dieOf(worker);
    await Promise.all(lost);
    const again = bench.invoke(host, neighbour);
    await bench.connect('i1', { version: v1, isIsolated: true, script: { invoke: () => ({ string: 'alone' }) } });
    expect(await again).toMatchObject({ kind: 'succeeded', response: { returnValue: { string: 'alone' } } });
    await bench.ready('w2', v1, { invoke: () => ({ string: 'as always' }) });
    expect(await bench.invoke(host, neighbour)).toMatchObject({ response: { returnValue: { string: 'as always' } } });
  });

  it('is found out on ordinary workers where no isolated one can be started', async () => {
    const bench = await openApp();
    bench.canIsolate = false;
    const poison = bench.call('crash', { messageId: 'm1' });
    for (const workerId of ['w1', 'w2']) {
      const worker = await crashes(bench, workerId);
      const lost = bench.invoke(host, poison);
      await dieOf(worker);
      expect(await lost).toMatchObject({ error: { code: 'RUNTIME_WORKER_LOST' } });
    }
    expect(await bench.invoke(host, poison)).toMatchObject({ error: { code: 'RUNTIME_MESSAGE_POISON' } });
  });

  it('is not blamed for a worker that the runtime ended itself', async () => {
    const bench = await openApp();
    const worker = await crashes(bench, 'w1');
    const running = bench.invoke(host, bench.call('hello', { messageId: 'm1' }));
    await worker.inbox.next('invocationRequest');
    void bench.side.deployments.retire(v1);
    await bench.clock.advance(40_000);
    expect(await running).toMatchObject({ error: { code: 'RUNTIME_WORKER_LOST' } });
    expect(bench.kinds()).not.toContain('invocation.suspect');
  });
});

describe('a function that ends its workers', () => {
  it('is refused for a while after it did so alone, and the time until then is told; other functions are served', async () => {
    const bench = await openApp();
    for (const workerId of ['w1', 'w2']) {
      const worker = await crashes(bench, workerId);
      const lost = bench.invoke(host, bench.call('crash'));
      await dieOf(worker);
      await lost;
    }
    await bench.ready('w3', v1, { invoke: () => ({ string: 'served' }) });
    const alone = bench.invoke(host, bench.call('crash'));
    await dieOf(await crashes(bench, 'i1', true));
    expect((await alone).kind).toBe('failed');
    expect(await bench.invoke(host, bench.call('crash'))).toMatchObject({
      error: { code: 'RUNTIME_FUNCTION_CRASHES', status: 503, details: { retryAfterMs: 500 } },
    });
    expect((await bench.invoke(host)).kind).toBe('succeeded');

    await bench.clock.advance(500);
    const healed = bench.invoke(host, bench.call('crash'));
    await bench.connect('i2', { version: v1, isIsolated: true, script: { invoke: () => ({ string: 'healed' }) } });
    expect(await healed).toMatchObject({ response: { returnValue: { string: 'healed' } } });
    expect(await bench.invoke(host, bench.call('crash'))).toMatchObject({
      response: { returnValue: { string: 'served' } },
    });
  });
});

describe('a worker that hangs', () => {
  it('was perhaps hung by its message: that runs alone next time', async () => {
    const bench = await openApp();
    const worker = await bench.ready('w1', v1, {
      capabilities: { WorkerStatus: 'true' },
      answer: ({ kind }) => (kind === 'invocationRequest' || kind === 'workerStatusRequest' ? 'silence' : undefined),
    });
    const call = bench.call('crash', { messageId: 'm1' });
    const stuck = bench.invoke(host, call);
    await worker.inbox.next('invocationRequest');
    for (let tick = 0; tick < 3; tick += 1) await bench.clock.advance(15_000);
    expect((await stuck).kind).toBe('failed');
    void bench.invoke(host, call);
    await eventually(() => expect(bench.isolated).toEqual(['tenant/app:v1']));
    worker.send(message('workerStatusResponse', {}));
  });
});
