import { FunctionRpcServer, GrpcStatus, StatusResultStatus } from '@drover/function-rpc';
import { AdmittedWorker, message } from '@drover/function-rpc/testing';
import { eventually } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { endAll, fixture, spawnWorker, WorkerUnderTest } from './support/worker-under-test.js';

const servers: FunctionRpcServer[] = [];
afterEach(async () => {
  await endAll();
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

/** A host on a port of its own choice, or on one that another host had before it. */
async function listen(
  port = 0,
): Promise<{ server: FunctionRpcServer; port: number; next: () => Promise<AdmittedWorker> }> {
  const arrivals: AdmittedWorker[] = [];
  const server = new FunctionRpcServer({ onStream: (stream) => arrivals.push(new AdmittedWorker(stream)) });
  servers.push(server);
  const listener = await server.listenLoopback({ port });
  return { server, port: listener.port, next: () => eventually(() => first(arrivals)) };
}

function first(arrivals: AdmittedWorker[]): AdmittedWorker {
  const worker = arrivals.shift();
  if (!worker) throw new Error('no worker has connected');
  return worker;
}

const reconnecting = { hostVersion: '4', capabilities: { DroverReconnect: 'true' } };

describe('a host that does not accept returning workers', () => {
  it('ends the worker with 0 when it ends the stream', async () => {
    const worker = await WorkerUnderTest.withApp('v4-commonjs');
    worker.admitted.stream.end();
    expect(await worker.child.exited).toEqual({ code: 0, signal: null });
  });

  it('ends the worker with 1 when the connection breaks', async () => {
    const worker = await WorkerUnderTest.withApp('v4-commonjs');
    await worker.host.stop();
    expect(await worker.child.exited).toEqual({ code: 1, signal: null });
    expect(worker.child.output).toContain('LanguageWorkerConsoleLog[warn] The stream to the host ended');
  });

  it('ends the worker with 1 when it cannot be reached', async () => {
    const { server, port } = await listen();
    await server.stop();
    const child = spawnWorker({ url: `http://127.0.0.1:${port}` });
    expect(await child.exited).toEqual({ code: 1, signal: null });
    expect(child.output).toMatch(/^LanguageWorkerConsoleLog\[error\] Cannot connect to the host: .*ECONNREFUSED/m);
  });
});

describe('a message that cannot be', () => {
  it('ends the stream and the worker: malformed', async () => {
    const worker = await WorkerUnderTest.withApp('v4-commonjs');
    worker.admitted.stream.sendEncoded(Buffer.from([0xff, 0xff, 0xff]));
    expect((await worker.admitted.inbox.ended).kind).toMatch(/^(cancelled|reset)$/);
    expect(await worker.child.exited).toEqual({ code: 1, signal: null });
    expect(worker.child.output).toContain('a message cannot be read');
  });

  it('ends the stream and the worker: longer than the host said it would be', async () => {
    const worker = await WorkerUnderTest.start({ maxMessageBytes: 10_000 });
    worker.admitted.send(message('workerInitRequest', { hostVersion: 'x'.repeat(20_000) }));
    expect(await worker.child.exited).toEqual({ code: 1, signal: null });
    expect(worker.child.output).toContain('exceeds the limit of 10000');
  });
});

describe('a host that accepts returning workers', () => {
  it('is found again after a restart, and the app is still there', async () => {
    const first = await listen();
    const child = spawnWorker({ url: `http://127.0.0.1:${first.port}` });
    const before = await first.next();
    const init = message('workerInitRequest', { ...reconnecting, functionAppDirectory: fixture('v4-commonjs') });
    await before.request(init, 'workerInitResponse');
    await first.server.stop();
    const second = await listen(first.port);
    const after = await second.next();
    expect(await after.next('startStream')).toMatchObject({ requestId: 'request-1', value: { workerId: 'worker-1' } });
    const { value } = await after.request(init, 'workerInitResponse');
    expect(value.result?.status).toBe(StatusResultStatus.Success);
    expect(value.capabilities['FromSetup']).toBe('yes');
    expect(value.workerMetadata?.customProperties['appDirectory']).toBe(fixture('v4-commonjs'));
    const request = message('invocationRequest', {
      invocationId: 'i',
      functionId: 'see',
      inputData: [{ name: 'input', data: { string: 'x' } }],
    });
    const answer = await after.request(request, 'invocationResponse');
    expect(answer.value.result?.status).toBe(StatusResultStatus.Success);
    expect(child.process.exitCode).toBeNull();
  });

  it('is not sent what belonged to the stream before', async () => {
    const first = await listen();
    const child = spawnWorker({ url: `http://127.0.0.1:${first.port}` });
    const before = await first.next();
    const init = message('workerInitRequest', { ...reconnecting, functionAppDirectory: fixture('v4-commonjs') });
    await before.request(init, 'workerInitResponse');
    const inputData = [{ name: 'input', data: { string: 'return' } }];
    before.send(message('invocationRequest', { invocationId: 'lost', functionId: 'untilAborted', inputData }));
    await eventually(() =>
      before.inbox.received.some((one) => one.kind === 'rpcLog' && one.value.message === 'listening'),
    );
    await first.server.stop();
    await child.line(/^aborted: The stream to the host ended/);
    const second = await listen(first.port);
    const after = await second.next();
    await after.request(init, 'workerInitResponse');
    await after.request(message('workerStatusRequest', {}), 'workerStatusResponse');
    expect(after.inbox.received.map(({ kind }) => kind)).toEqual([
      'startStream',
      'workerInitResponse',
      'workerStatusResponse',
    ]);
  });

  it('cannot make it the worker of another app', async () => {
    const first = await listen();
    spawnWorker({ url: `http://127.0.0.1:${first.port}` });
    const worker = await first.next();
    const init = (name: string) =>
      message('workerInitRequest', { ...reconnecting, functionAppDirectory: fixture(name) });
    await worker.request(init('v4-esm'), 'workerInitResponse');
    const { value } = await worker.request(init('v4-commonjs'), 'workerInitResponse');
    expect(value.result?.status).toBe(StatusResultStatus.Failure);
    expect(value.result?.exception?.message).toContain(`This worker runs the app in ${fixture('v4-esm')}`);
  });

  it('is waited for no longer than the time that was set', async () => {
    const first = await listen();
    const child = spawnWorker({ url: `http://127.0.0.1:${first.port}`, env: { DROVER_WORKER_RECONNECT_MS: '300' } });
    await (await first.next()).request(message('workerInitRequest', reconnecting), 'workerInitResponse');
    await first.server.stop();
    expect(await child.exited).toEqual({ code: 1, signal: null });
    expect(child.output).toContain('Cannot connect to the host');
  });

  it('is not redialed with a time of 0', async () => {
    const first = await listen();
    const child = spawnWorker({ url: `http://127.0.0.1:${first.port}`, env: { DROVER_WORKER_RECONNECT_MS: '0' } });
    const worker = await first.next();
    await worker.request(message('workerInitRequest', reconnecting), 'workerInitResponse');
    worker.stream.end();
    expect(await child.exited).toEqual({ code: 0, signal: null });
  });

  it('can refuse the worker for good', async () => {
    const first = await listen();
    const child = spawnWorker({ url: `http://127.0.0.1:${first.port}` });
    const worker = await first.next();
    await worker.request(message('workerInitRequest', reconnecting), 'workerInitResponse');
    worker.stream.destroy(GrpcStatus.PERMISSION_DENIED, 'not one of mine');
    expect(await child.exited).toEqual({ code: 1, signal: null });
    expect(child.output).toContain('not one of mine');
  });
});

describe('an uncaught error', () => {
  it.each([
    ['uncaught', 'not caught'],
    ['unhandled', 'not handled'],
  ])('ends the worker with 1, after the log lines that name the app: %s', async (how, text) => {
    const worker = await WorkerUnderTest.withApp('v4-commonjs');
    worker.invoke('fail', { name: 'input', data: { string: how } });
    expect(await worker.child.exited).toEqual({ code: 1, signal: null });
    const line = worker.child.stderr.find((one) => one.includes(text));
    expect(line).toContain(
      `LanguageWorkerConsoleLog[error] Worker uncaught exception in the app ${fixture('v4-commonjs')} while fail ran: Error: ${text}`,
    );
    await worker.admitted.inbox.ended;
    const logs = worker.messages.flatMap((one) => (one.kind === 'rpcLog' ? [one.value.message] : []));
    expect(logs.at(-1)).toContain(text);
  });
});
