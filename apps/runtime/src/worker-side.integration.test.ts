import { eventually } from '@drover/testkit';
import {
  failure,
  invocationResponse,
  message,
  ScriptedWorker,
  success,
  type WorkerScript,
} from '@drover/function-rpc/testing';
import { describe, expect, it } from 'vitest';
import { definition, version, workerBenches } from './worker-side.test.fixture.js';
import { WorkerShutdown } from './worker-lifecycle/worker-shutdown.js';

const { open } = workerBenches();
const v1 = version('v1');
const host = 'tenant/app:m1';

describe('a function worker', () => {
  it('is brought up step by step, and then runs what it is given', async () => {
    const bench = await open();
    const deployed = bench.side.deployments.deploy(v1);
    const worker = await bench.ready('w1', v1, { invoke: () => ({ string: 'hello' }) });
    expect((await deployed).key).toBe(host);
    expect(worker.inbox.received.map(({ kind }) => kind)).toEqual([
      'workerInitRequest',
      'functionsMetadataRequest',
      'functionLoadRequest',
    ]);
    const outcome = await bench.invoke(host);
    expect(outcome).toMatchObject({ kind: 'succeeded', response: { returnValue: { string: 'hello' } } });
  });

  it('is asked for the functions once for all workers of a version', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    await bench.ready('w1', v1);
    const second = await bench.ready('w2', v1);
    expect(second.inbox.received.map(({ kind }) => kind)).toEqual(['workerInitRequest', 'functionLoadRequest']);
    expect(bench.side.jobHosts.get(host)?.router.size).toBe(2);
  });

  it('that is not expected, or whose request id was used before, is refused', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    await bench.ready('w1', v1);
    for (const [workerId, requestId] of [
      ['stranger', 'x'],
      ['w1', 'w1-word'],
    ] as const) {
      const stranger = await ScriptedWorker.connect({ url: bench.url, workerId, requestId });
      expect((await stranger.inbox.ended).kind).toBe('error');
    }
    expect(bench.kinds().filter((kind) => kind === 'rpc.refused')).toHaveLength(2);
    expect(bench.side.registry.size).toBe(1);
  });

  it('that sends StartStream twice loses its stream', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const worker = await bench.ready('w1', v1);
    worker.send(message('startStream', { workerId: 'w1' }));
    expect((await worker.inbox.ended).reason).toContain('twice');
    await bench.gone('w1');
  });

  it('that names its application without a version gets the newest one', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    bench.side.admission.expect({ workerId: 'w1', requestId: 'word', applicationKey: 'tenant/app' });
    const worker = await ScriptedWorker.connect({ url: bench.url, workerId: 'w1', requestId: 'word' });
    await bench.until('w1', 'ready');
    expect(bench.side.registry.get('w1')?.applicationKey).toBe('tenant/app:v1');
    expect((await bench.invoke(host)).kind).toBe('succeeded');
    await worker.end();
  });

  it('of an application that is not known here is given up', async () => {
    const bench = await open();
    const worker = await bench.connect('w1', { version: v1 });
    await worker.inbox.ended;
    expect(bench.kinds()).toContain('worker.unfit');
  });

  it('that fails to list its functions is given up, and the next one is asked again', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const broken = await bench.connect('w1', {
      version: v1,
      script: { answer: ({ kind }) => (kind === 'functionsMetadataRequest' ? 'silence' : undefined) },
    });
    await broken.inbox.next('functionsMetadataRequest');
    await bench.clock.advance(1_000);
    await broken.inbox.ended;
    expect(bench.requested).toMatchObject([{ reason: 'specialization-failed', priority: 'urgent', replaces: 'w1' }]);
    const second = await bench.ready('w2', v1);
    await second.inbox.next('functionsMetadataRequest');
  });

  it('that missed the deadline of its initialization may come back under its id', async () => {
    const bench = await open({ DROVER_WORKER_START_TIMEOUT_MS: '1000' });
    void bench.side.deployments.deploy(v1);
    const late = await bench.connect('w1', { version: v1, script: { answer: () => 'silence' } });
    await late.inbox.next('workerInitRequest');
    await bench.clock.advance(1_000);
    await late.inbox.ended;
    expect(bench.side.registry.get('w1')?.state).toBe('abandoned');
    await bench.ready('w1', v1, { invoke: () => ({ string: 'back' }) });
    expect(await bench.invoke(host)).toMatchObject({ response: { returnValue: { string: 'back' } } });
    await bench.clock.advance(300_000);
    expect(bench.side.registry.get('w1')?.state).toBe('ready');
  });

  const refusing = (...refused: readonly string[]): WorkerScript => ({
    answer: (received) => {
      if (received.kind !== 'functionLoadRequest' || !refused.includes(received.value.functionId)) return undefined;
      const { functionId } = received.value;
      return message('functionLoadResponse', { functionId, result: failure('no such file') });
    },
    invoke: () => ({ string: 'from a worker that refused a function' }),
  });
  const twoFunctions = { functions: [definition('hello'), definition('other')], problems: [], metadataVersion: 'm1' };

  it('whose loads fail in part is ready, gets no invocations of what it refused, and the problem is told', async () => {
    const bench = await open();
    bench.indexes.set('v1', twoFunctions);
    void bench.side.deployments.deploy(v1);
    const partial = await bench.ready('w1', v1, refusing('hello'));
    expect(bench.observed).toContainEqual({
      kind: 'application.problem',
      application: 'tenant/app:v1',
      problem: 'hello could not be loaded: no such file',
    });
    const refused = await bench.invoke(host);
    expect(refused).toMatchObject({ kind: 'failed', error: { code: 'RUNTIME_FUNCTION_NOT_LOADED', status: 500 } });
    expect(refused).toMatchObject({ error: { message: expect.stringContaining('no such file') as unknown } });
    expect((await bench.invoke(host, bench.call('other'))).kind).toBe('succeeded');
    await bench.ready('w2', v1, { invoke: () => ({ string: 'from a whole worker' }) });
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => bench.invoke(host)));
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ response: { returnValue: { string: 'from a whole worker' } } });
    const ids = partial.inbox.received.flatMap((one) =>
      one.kind === 'invocationRequest' ? [one.value.functionId] : [],
    );
    expect(ids).toEqual(['other']);
  });

  it.each([{}, { SupportsLoadResponseCollection: 'true' }])(
    'that loads nothing, or answers for functions that were not to be loaded, is never ready, and its reason is told: %j',
    async (capabilities) => {
      const bench = await open();
      bench.indexes.set('v1', twoFunctions);
      const deployed = bench.side.deployments.deploy(v1);
      const answers = [
        { functionId: 'unknown', result: success },
        { functionId: 'hello', result: failure('no such file') },
      ];
      const worker = await bench.connect('w1', {
        version: v1,
        script: {
          capabilities,
          answer: (received) => {
            if (received.kind === 'functionLoadRequest')
              return message('functionLoadResponse', answers[received.value.functionId === 'hello' ? 1 : 0] ?? {});
            if (received.kind === 'functionLoadRequestCollection')
              return message('functionLoadResponseCollection', { functionLoadResponses: answers });
            return undefined;
          },
        },
      });
      await expect(deployed).rejects.toThrow(/hello could not be loaded: no such file[\s\S]*other could not be loaded/);
      await worker.inbox.ended;
      expect(bench.side.registry.get('w1')?.state).toBe('abandoned');
    },
  );
});

describe('a lost worker', () => {
  it('is out of routing, its invocations fail and may be tried again, and another one is asked for', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const worker = await bench.ready('w1', v1, {
      answer: ({ kind }) => (kind === 'invocationRequest' ? 'silence' : undefined),
    });
    const running = bench.invoke(host);
    await worker.inbox.next('invocationRequest');
    worker.stream.destroy(1, 'crash');
    const outcome = await running;
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'RUNTIME_WORKER_LOST', retryable: true } });
    expect(bench.requested).toMatchObject([
      { reason: 'worker-crash', priority: 'urgent', applicationKey: 'tenant/app:v1' },
    ]);
    expect(bench.side.jobHosts.get(host)?.router.size).toBe(0);
    expect(bench.side.tracker.size).toBe(0);
  });

  it('that leaves in good order without being told to is lost all the same', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const worker = await bench.ready('w1', v1);
    await bench.ready('w2', v1);
    await worker.end();
    await bench.gone('w1');
    expect(bench.requested).toMatchObject([{ reason: 'worker-crash', priority: 'normal' }]);
  });

  it('has its process ended: it may be alive, and could never connect again', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const worker = await bench.ready('w1', v1);
    worker.stream.destroy(1, 'the stream is lost, the process lives on');
    await bench.gone('w1');
    expect(bench.graces).toEqual(new Map([['w1', 1_000]]));
  });

  it('that was told to end has its process ended too, even if its stream is long gone', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    await bench.ready('w1', v1, { capabilities: { HandlesWorkerTerminateMessage: 'true' } });
    await bench.side.deployments.retire(v1);
    await bench.gone('w1');
    expect(bench.ended).toEqual([]);
    await bench.clock.advance(5_000);
    expect(bench.ended).toEqual(['w1']);
  });

  it('does not affect other workers', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const doomed = await bench.ready('w1', v1, {
      answer: ({ kind }) => (kind === 'invocationRequest' ? 'silence' : undefined),
    });
    await bench.ready('w2', v1, { invoke: () => ({ string: 'from w2' }) });
    const outcomes = [bench.invoke(host), bench.invoke(host)];
    await doomed.inbox.next('invocationRequest');
    doomed.stream.destroy(1, 'crash');
    const kinds = (await Promise.all(outcomes)).map(({ kind }) => kind).toSorted();
    expect(kinds).toEqual(['failed', 'succeeded']);
  });
});

describe('an application whose workers end at their start', () => {
  it('does not let calls wait for nothing: they get the reason, until a worker is ready', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const worker = await bench.ready('w1', v1);
    await worker.end();
    await bench.gone('w1');
    bench.fail('exit code 1: Cannot find module');
    expect(bench.side.deployments.failureOf('tenant/app')).toContain('Cannot find module');
    const refused = await bench.invoke(host);
    expect(refused).toMatchObject({ error: { code: 'RUNTIME_NO_WORKER', status: 503 } });
    expect(refused).toMatchObject({ error: { message: expect.stringContaining('Cannot find module') as unknown } });
    await bench.ready('w2', v1);
    expect((await bench.invoke(host)).kind).toBe('succeeded');
    expect(bench.side.deployments.failureOf('tenant/app')).toBeUndefined();
  });
});

describe('a silent worker', () => {
  it('is given up after three intervals in all, however many are silent at once', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const hangs = {
      capabilities: { WorkerStatus: 'true' },
      answer: ({ kind }: { kind?: string | undefined }) =>
        kind === 'workerStatusRequest' ? ('silence' as const) : undefined,
    };
    const workers = await Promise.all(Array.from({ length: 10 }, (_, n) => bench.ready(`w${n}`, v1, hangs)));
    const lively = await bench.ready('lively', v1, { capabilities: { WorkerStatus: 'true' } });
    for (let tick = 1; tick <= 3; tick += 1) {
      await bench.clock.advance(15_000);
      // What travels over a socket needs real time.
      await lively.inbox.next('workerStatusRequest');
      await eventually(() => expect(bench.kinds().filter((kind) => kind === 'worker.alive')).toHaveLength(tick));
      if (tick < 3) expect(bench.kinds()).not.toContain('worker.hung');
    }
    await Promise.all(workers.map((worker) => worker.inbox.ended));
    expect(bench.kinds().filter((kind) => kind === 'worker.hung')).toHaveLength(10);
    expect(bench.ended.toSorted()).toEqual(workers.map(({ workerId }) => workerId).toSorted());
    expect(bench.side.registry.get('lively')?.state).toBe('ready');
    expect(bench.side.registry.in('abandoned')).toHaveLength(10);
    await bench.clock.advance(300_000);
    expect(workers.filter(({ workerId }) => bench.side.registry.get(workerId))).toEqual([]);
  });
});

describe('a worker that a debugger may halt', () => {
  it('is given up neither at its start, nor for missed heartbeats, nor for a function that takes long', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const capabilities = { WorkerStatus: 'true' };
    const worker = await bench.connect('w1', { version: v1, isDebugged: true, script: { answer: () => 'silence' } });
    const init = await worker.inbox.next('workerInitRequest');
    await bench.clock.advance(600_000);
    worker.send(message('workerInitResponse', { capabilities, result: success }, init.requestId));
    const metadata = await worker.inbox.next('functionsMetadataRequest');
    worker.send(message('functionMetadataResponse', { result: success }, metadata.requestId));
    const load = await worker.inbox.next('functionLoadRequest');
    worker.send(message('functionLoadResponse', { functionId: 'hello', result: success }, load.requestId));
    await bench.until('w1', 'ready');
    const running = bench.invoke(host, bench.call(), 1_000);
    const { value } = await worker.inbox.next('invocationRequest');
    await bench.clock.advance(600_000);
    expect(bench.side.registry.get('w1')?.state).toBe('ready');
    worker.send(invocationResponse(value.invocationId));
    expect((await running).kind).toBe('succeeded');
  });
});

describe('an invocation', () => {
  const silent = {
    answer: ({ kind }: { kind?: string | undefined }) =>
      kind === 'invocationRequest' ? ('silence' as const) : undefined,
  };

  it('that takes too long fails, is cancelled, and its worker is replaced when the others are done', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const capabilities = { HandlesInvocationCancelMessage: 'true', HandlesWorkerTerminateMessage: 'true' };
    const worker = await bench.ready('w1', v1, { ...silent, capabilities });
    const slow = bench.invoke(host, bench.call(), 1_000);
    const other = bench.invoke(host, bench.call(), 60_000);
    const first = await worker.inbox.next('invocationRequest');
    const second = await worker.inbox.next('invocationRequest');
    await bench.clock.advance(1_000);
    expect(await slow).toMatchObject({ kind: 'failed', error: { code: 'RUNTIME_INVOCATION_TIMED_OUT' } });
    expect((await worker.inbox.next('invocationCancel')).value.invocationId).toBe(first.value.invocationId);
    expect(bench.side.registry.get('w1')?.state).toBe('draining');
    expect(bench.requested).toMatchObject([{ reason: 'invocation-timeout', priority: 'urgent' }]);
    worker.send(invocationResponse(second.value.invocationId));
    expect((await other).kind).toBe('succeeded');
    await worker.inbox.next('workerTerminate');
    await bench.gone('w1');
    expect(bench.requested).toHaveLength(1);
    worker.send(invocationResponse(first.value.invocationId));
  });

  it('that never ends does not keep its worker for ever', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const capabilities = { HandlesWorkerTerminateMessage: 'true' };
    const worker = await bench.ready('w1', v1, { ...silent, capabilities });
    void bench.invoke(host, bench.call(), 1_000);
    const stuck = bench.invoke(host, bench.call(), 600_000);
    await worker.inbox.next('invocationRequest');
    await bench.clock.advance(1_000);
    await bench.clock.advance(30_000);
    await worker.inbox.next('workerTerminate');
    await worker.inbox.ended;
    expect(await stuck).toMatchObject({ kind: 'failed', error: { code: 'RUNTIME_WORKER_LOST' } });
    expect(bench.kinds()).toContain('worker.drain-timeout');
  });

  it('recycles only after several in a row where it is told to', async () => {
    const bench = await open({ DROVER_WORKER_RECYCLE_ON_TIMEOUT: 'false' });
    void bench.side.deployments.deploy(v1);
    await bench.ready('w1', v1, silent);
    for (let turn = 1; turn <= 3; turn += 1) {
      expect(bench.side.registry.get('w1')?.state).toBe('ready');
      const late = bench.invoke(host, bench.call(), 100);
      await bench.clock.advance(100);
      expect((await late).kind).toBe('failed');
    }
    expect(bench.side.registry.get('w1')?.state).not.toBe('ready');
  });

  it('ignores and counts a second response, and one from another worker', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const worker = await bench.ready('w1', v1, silent);
    const running = bench.invoke(host);
    const { value } = await worker.inbox.next('invocationRequest');
    worker.send(invocationResponse('unknown'));
    worker.send(invocationResponse(value.invocationId, { string: 'first' }));
    worker.send(invocationResponse(value.invocationId, { string: 'second' }));
    expect(await running).toMatchObject({ response: { returnValue: { string: 'first' } } });
    await eventually(() => expect(bench.kinds().filter((kind) => kind === 'invocation.stray')).toHaveLength(2));
    expect(bench.side.registry.get('w1')?.state).toBe('ready');
  });

  it('waits for a worker, and is turned away when too many wait', async () => {
    const bench = await open({ DROVER_MAX_WAITING_INVOCATIONS: '1', DROVER_WORKER_CONCURRENCY: '1' });
    void bench.side.deployments.deploy(v1);
    const worker = await bench.ready('w1', v1, silent);
    const running = bench.invoke(host);
    const waiting = bench.invoke(host);
    expect(await bench.invoke(host)).toMatchObject({ error: { code: 'RUNTIME_SATURATED', status: 429 } });
    const first = await worker.inbox.next('invocationRequest');
    worker.send(invocationResponse(first.value.invocationId));
    const second = await worker.inbox.next('invocationRequest');
    worker.send(invocationResponse(second.value.invocationId));
    expect([(await running).kind, (await waiting).kind]).toEqual(['succeeded', 'succeeded']);
  });

  it('whose caller went away is told to its worker, keeps its slot, and ends with what the function returns', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const worker = await bench.ready('w1', v1, { ...silent, capabilities: { HandlesInvocationCancelMessage: 'true' } });
    const gone = new AbortController();
    const running = bench.invoke(host, bench.call('hello', { signal: gone.signal }));
    const { value } = await worker.inbox.next('invocationRequest');
    gone.abort();
    await worker.inbox.next('invocationCancel');
    expect(bench.side.tracker.countOf('w1')).toBe(1);
    worker.send(invocationResponse(value.invocationId));
    expect(await running).toMatchObject({ kind: 'succeeded' });
    expect(bench.kinds()).not.toContain('invocation.stray');
  });

  it('whose caller went away while it waited for a worker is never started', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    await bench.ready('w1', v1, silent);
    const gone = new AbortController();
    gone.abort();
    const refused = await bench.invoke(host, bench.call('hello', { signal: gone.signal }));
    expect(refused).toMatchObject({ error: { code: 'RUNTIME_INVOCATION_CANCELLED' } });
    expect(bench.side.tracker.size).toBe(0);
  });

  it('that fails has its exception in the log, with file and line', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const worker = await bench.ready('w1', v1, silent);
    const running = bench.invoke(host);
    const { value } = await worker.inbox.next('invocationRequest');
    const stackTrace = 'Error: boom\n    at handler (/app/index.js:7:11)';
    const exception = { message: 'boom', stackTrace, type: 'Error', isUserException: true };
    const { invocationId } = value;
    worker.send(message('invocationResponse', { invocationId, result: { status: 0, exception } }));
    expect(await running).toMatchObject({ kind: 'failed', error: { code: 'RUNTIME_INVOCATION_FAILED' } });
    expect(bench.invoked).toContainEqual({
      kind: 'invocation.threw',
      function: 'hello',
      invocationId,
      exception: stackTrace,
    });
  });

  it('has its logs told before its end, under its function', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const worker = await bench.ready('w1', v1, silent);
    const running = bench.invoke(host);
    const { value } = await worker.inbox.next('invocationRequest');
    worker.send(
      message('rpcLog', { invocationId: value.invocationId, category: 'hello.Invocation', level: 2, message: 'one' }),
    );
    worker.send(
      message('rpcLog', { invocationId: value.invocationId, category: 'hello.Invocation', level: 4, message: 'two' }),
    );
    worker.send(invocationResponse(value.invocationId));
    await running;
    const lines = bench.observed.flatMap((seen) => (seen.kind === 'worker.log' ? [seen.line] : []));
    expect(lines).toMatchObject([
      { text: 'one', level: 'info', category: 'Function.hello.User' },
      { text: 'two', level: 'error', category: 'Function.hello.User' },
    ]);
  });
});

describe('a worker that does not read', () => {
  it('gets nothing more while others have room, is unhealthy after a while, and goes on when it has caught up', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const slow = await bench.ready('slow', v1);
    slow.stream.pause();
    const large = { inputData: [{ name: 'trigger', data: { bytes: Buffer.alloc(2_000_000) } }], triggerMetadata: {} };
    const calls = [];
    while (!bench.kinds().includes('worker.backpressure')) {
      calls.push(bench.invoke(host, bench.call('hello', { inputs: () => large })));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await bench.ready('quick', v1, { invoke: () => ({ string: 'quick' }) });
    for (let n = 0; n < 5; n += 1)
      expect(await bench.invoke(host)).toMatchObject({ response: { returnValue: { string: 'quick' } } });
    await bench.clock.advance(5_000);
    expect(bench.side.registry.get('slow')?.state).toBe('unhealthy');
    expect(bench.requested).toMatchObject([{ reason: 'backpressure', priority: 'normal', replaces: 'slow' }]);
    slow.stream.resume();
    expect((await Promise.all(calls)).map(({ kind }) => kind)).toEqual(calls.map(() => 'succeeded'));
    await bench.until('slow', 'ready');
    expect(bench.side.jobHosts.get(host)?.router.size).toBe(2);
  });
});

describe('a worker that is to end', () => {
  it('and does not know the message for it has its stream ended in good order', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const worker = await bench.ready('w1', v1);
    await bench.side.deployments.retire(v1);
    expect(await worker.inbox.ended).toMatchObject({ kind: 'halfClosed' });
    expect(worker.inbox.received.map(({ kind }) => kind)).not.toContain('workerTerminate');
    await bench.gone('w1');
    expect(bench.requested).toEqual([]);
  });

  it('with the runtime has as long as its grace to end its stream itself', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const terminated = { capabilities: { HandlesWorkerTerminateMessage: 'true' } };
    await bench.ready('ends', v1, terminated);
    const stays = await bench.ready('stays', v1, {
      ...terminated,
      answer: ({ kind }) => (kind === 'workerTerminate' ? 'silence' : undefined),
    });
    const isDrained = { value: false };
    const drain = new WorkerShutdown(bench.side.registry, bench.side.lifecycle)
      .drain(new AbortController().signal)
      .then(() => (isDrained.value = true));
    await bench.gone('ends');
    await eventually(() => expect(stays.inbox.received.map(({ kind }) => kind)).toContain('workerTerminate'));
    expect(isDrained.value).toBe(false);
    await bench.clock.advance(5_000);
    await drain;
    expect(await stays.inbox.ended).toMatchObject({ kind: 'error' });
  });
});

describe('a placeholder', () => {
  it('becomes ready for an application, with its environment, and says how long each step took', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const worker = await bench.connect('p1');
    await bench.until('p1', 'placeholder');
    const [placeholder] = bench.side.registry.in('placeholder');
    const deployed = bench.side.deployments.find('tenant/app:v1');
    if (!placeholder || !deployed) throw new Error('the placeholder or the version is missing');
    expect(await bench.specializer.specialize(placeholder, deployed)).toBe(true);
    const request = await worker.inbox.next('functionEnvironmentReloadRequest');
    expect(request.value).toMatchObject({ functionAppDirectory: '/app', environmentVariables: { COLOR: 'blue' } });
    expect(placeholder.state).toBe('ready');
    const seen = bench.observed.find(({ kind }) => kind === 'worker.specialized');
    expect(seen).toMatchObject({ steps: { environment: 0, metadata: 0, jobHost: 0, load: 0 } });
    expect((await bench.invoke(host)).kind).toBe('succeeded');
  });

  it('that failed to specialize is not a placeholder any more', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const refusal = message('functionEnvironmentReloadResponse', { result: failure('no such directory') });
    const worker = await bench.connect('p1', {
      script: { answer: ({ kind }) => (kind === 'functionEnvironmentReloadRequest' ? refusal : undefined) },
    });
    await bench.until('p1', 'placeholder');
    const [placeholder] = bench.side.registry.in('placeholder');
    const deployed = bench.side.deployments.find('tenant/app:v1');
    if (!placeholder || !deployed) throw new Error('the placeholder or the version is missing');
    expect(await bench.specializer.specialize(placeholder, deployed)).toBe(false);
    await worker.inbox.ended;
    expect(bench.side.registry.in('placeholder', 'ready')).toHaveLength(0);
    expect(bench.ended).toEqual(['p1']);
  });

  it('stays where its application’s job host cannot start', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    bench.startListener = () => Promise.reject(new Error('no such queue'));
    const worker = await bench.connect('w1', { version: v1 });
    await worker.inbox.ended;
    expect(bench.side.jobHosts.size).toBe(0);
    bench.startListener = () => Promise.resolve();
    await bench.ready('w2', v1);
    expect(bench.side.jobHosts.size).toBe(1);
  });
});

describe('a deployment', () => {
  const v2 = version('v2');
  const answers = (text: string) => ({ invoke: () => ({ string: text }) });
  const shares = async (bench: Awaited<ReturnType<typeof open>>, count: number): Promise<Record<string, number>> => {
    const seen: Record<string, number> = {};
    for (let n = 0; n < count; n += 1) {
      const outcome = await bench.invoke(host);
      const text = (outcome.kind === 'succeeded' && outcome.response.returnValue?.string) || outcome.kind;
      seen[text] = (seen[text] ?? 0) + 1;
    }
    return seen;
  };

  it('of code only joins the same job host, takes the share it is given, and gives it back on a rollback', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    await bench.ready('blue', v1, answers('v1'));
    const before = bench.side.jobHosts.get(host);
    const deployed = bench.side.deployments.deploy(v2, { sharePercent: 20 });
    await bench.ready('green', v2, answers('v2'));
    expect(await deployed).toBe(before);
    expect(await shares(bench, 100)).toEqual({ v1: 80, v2: 20 });
    bench.side.deployments.shift('tenant', 'app', new Map([['v2', 100]]));
    expect(await shares(bench, 10)).toEqual({ v2: 10 });
    bench.side.deployments.shift('tenant', 'app', new Map([['v1', 100]]));
    expect(await shares(bench, 10)).toEqual({ v1: 10 });
    expect(bench.side.jobHosts.size).toBe(1);
  });

  it('of code only takes everything when it is given no share, and drops no invocation on the way', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    await bench.ready('old', v1, answers('v1'));
    let failed = 0;
    const enough = new AbortController();
    const load = (async () => {
      while (!enough.signal.aborted) if ((await bench.invoke(host)).kind !== 'succeeded') failed += 1;
    })();
    const deployed = bench.side.deployments.deploy(v2);
    await bench.ready('new', v2, answers('v2'));
    await deployed;
    await bench.side.deployments.retire(v1);
    await bench.gone('old');
    enough.abort();
    await load;
    expect(failed).toBe(0);
    expect(await shares(bench, 5)).toEqual({ v2: 5 });
  });

  it('of other metadata gets a job host of its own before the old one is stopped', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    await bench.ready('old', v1);
    bench.indexes.set('v2', {
      functions: [definition('hello'), definition('more')],
      problems: [],
      metadataVersion: 'm2',
    });
    const deployed = bench.side.deployments.deploy(v2);
    await bench.ready('new', v2);
    expect((await deployed).key).toBe('tenant/app:m2');
    expect(bench.side.deployments.serving('tenant', 'app')?.key).toBe('tenant/app:m2');
    await bench.gone('old');
    await eventually(() => expect(bench.side.jobHosts.all().map(({ key }) => key)).toEqual(['tenant/app:m2']));
    expect(bench.ceased).toEqual(['tenant/app:v1']);
    expect((await bench.invoke('tenant/app:m2')).kind).toBe('succeeded');
  });
});

describe('a job host whose listener breaks', () => {
  it('is replaced: what ran fails and may be tried again, and its workers go on', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const worker = await bench.ready('w1', v1, {
      answer: ({ kind }) => (kind === 'invocationRequest' ? 'silence' : undefined),
    });
    const running = bench.invoke(host);
    await worker.inbox.next('invocationRequest');
    const before = bench.side.jobHosts.get(host);
    bench.breakListener(new TypeError('a mistake of ours'));
    expect(await running).toMatchObject({
      kind: 'failed',
      error: { code: 'RUNTIME_JOB_HOST_FAILED', retryable: true },
    });
    await bench.until('w1', 'ready');
    expect(bench.side.jobHosts.get(host)).not.toBe(before);
    expect(before?.state).toBe('stopped');
    const again = bench.invoke(host);
    const { value } = await worker.inbox.next('invocationRequest');
    worker.send(invocationResponse(value.invocationId));
    expect((await again).kind).toBe('succeeded');
  });

  it('gives its workers up when it cannot be replaced', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const worker = await bench.ready('w1', v1);
    bench.startListener = () => Promise.reject(new Error('still broken'));
    bench.breakListener(new TypeError('a mistake of ours'));
    await worker.inbox.ended;
    expect(bench.requested).toMatchObject([{ reason: 'job-host-failed', priority: 'urgent' }]);
    expect(bench.side.jobHosts.size).toBe(0);
  });
});

describe('a worker that misbehaves', () => {
  const silent = {
    answer: ({ kind }: { kind?: string | undefined }) =>
      kind === 'invocationRequest' ? ('silence' as const) : undefined,
  };
  const answers = { invoke: () => ({ string: 'fine' }) };

  it('with bytes that are no message loses its stream, and others notice nothing', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const bad = await bench.ready('bad', v1, silent);
    const running = bench.invoke(host);
    await bad.inbox.next('invocationRequest');
    await bench.ready('good', v1, answers);
    bad.stream.sendEncoded(Buffer.from([0xff, 0xff, 0xff, 0xff]));
    expect(await running).toMatchObject({ kind: 'failed', error: { code: 'RUNTIME_WORKER_LOST' } });
    expect(bench.observed).toContainEqual(expect.objectContaining({ kind: 'worker.lost', workerId: 'bad' }));
    expect((await bench.invoke(host)).kind).toBe('succeeded');
  });

  it('with an answer above the limit loses its stream; one of a hundred megabytes is taken by default', async () => {
    const small = await open({ DROVER_RPC_MAX_MESSAGE_BYTES: '1000000' });
    void small.side.deployments.deploy(v1);
    await small.ready('w1', v1, { invoke: () => ({ bytes: Buffer.alloc(1_000_001) }) });
    expect(await small.invoke(host)).toMatchObject({ error: { code: 'RUNTIME_WORKER_LOST' } });
    const usual = await open();
    void usual.side.deployments.deploy(v1);
    await usual.ready('w1', v1, { invoke: () => ({ bytes: Buffer.alloc(100_000_000) }) });
    const outcome = await usual.invoke(host);
    expect(outcome.kind === 'succeeded' && outcome.response.returnValue?.bytes?.byteLength).toBe(100_000_000);
  });

  it('with unexpected messages is counted, and keeps running', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const worker = await bench.ready('w1', v1, answers);
    worker.send(message('workerInitResponse', {}));
    worker.send(message('functionLoadResponse', { functionId: 'unknown' }));
    await eventually(() => expect(bench.kinds().filter((kind) => kind === 'worker.unexpected')).toHaveLength(2));
    expect((await bench.invoke(host)).kind).toBe('succeeded');
  });

  it('with a flood of logs has them told in order, while others are answered', async () => {
    const bench = await open();
    void bench.side.deployments.deploy(v1);
    const loud = await bench.ready('loud', v1, silent);
    const flooded = bench.invoke(host);
    const { value } = await loud.inbox.next('invocationRequest');
    await bench.ready('calm', v1, answers);
    const count = 20_000;
    for (let n = 0; n < count; n += 1)
      loud.send(message('rpcLog', { invocationId: value.invocationId, level: 2, message: `line ${n}` }));
    loud.send(invocationResponse(value.invocationId));
    expect((await bench.invoke(host)).kind).toBe('succeeded');
    expect((await flooded).kind).toBe('succeeded');
    const lines = bench.observed.flatMap((seen) => (seen.kind === 'worker.log' ? [seen.line.text] : []));
    expect(lines).toEqual(Array.from({ length: count }, (_, n) => `line ${n}`));
  });
});
