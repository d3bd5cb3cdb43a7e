import { existsSync } from 'node:fs';
import path from 'node:path';
import { FunctionRpcServer } from '@drover/function-rpc';
import { AdmittedWorker, message, ScriptedHost, TestAuthority } from '@drover/function-rpc/testing';
import { eventually } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { endAll, fixture, httpRequest, spawnWorker, WorkerUnderTest } from './support/worker-under-test.js';

const servers: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  await endAll();
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

describe('the command line', () => {
  it('is refused with all that is missing', async () => {
    const child = spawnWorker({ url: '', args: ['--functions-worker-id', 'w'] });
    expect(await child.exited).toEqual({ code: 1, signal: null });
    expect(child.stderr).toEqual([
      'LanguageWorkerConsoleLog[error] The worker cannot start: --functions-uri is missing (or --host and --port); ' +
        '--functions-request-id is missing; --functions-grpc-max-message-length is missing.',
    ]);
  });

  it('may use the old spellings', async () => {
    const host = await ScriptedHost.listen();
    servers.push(host);
    const { hostname, port } = new URL(host.url);
    const where = ['--host', hostname, '--port', port, '--workerId', 'old', '--requestId', 'r'];
    spawnWorker({ url: '', args: [...where, '--grpcMaxMessageLength', '2147483647'] });
    const worker = await host.worker(20_000);
    expect(await worker.next('startStream')).toMatchObject({ requestId: 'r', value: { workerId: 'old' } });
  });

  it('prints the time to StartStream when asked', async () => {
    const worker = await WorkerUnderTest.start({ env: { DROVER_WORKER_TRACE_START: '1' } });
    expect(await worker.child.line(/start-stream/)).toMatch(/^LanguageWorkerConsoleLog start-stream after \d+ ms$/);
  });
});

describe('the plain library', () => {
  it('serves every invocation when it is asked for', async () => {
    const worker = await WorkerUnderTest.withApp('v4-commonjs', { env: { DROVER_WORKER_PLAIN_LIBRARY: '1' } });
    for (const name of ['a', 'b', 'c']) {
      const { response } = await worker.call('hello', httpRequest('GET', `http://localhost/?name=${name}`));
      expect(String(response.returnValue?.http?.body?.bytes)).toBe(`hello ${name}`);
    }
  });
});

describe('an https address', () => {
  it('is reached with the certificates from the environment, which the app does not see', async () => {
    const authority = await TestAuthority.create();
    const arrivals: AdmittedWorker[] = [];
    const server = new FunctionRpcServer({ onStream: (stream) => arrivals.push(new AdmittedWorker(stream)) });
    servers.push(server);
    const own = await authority.issue({ commonName: 'host' });
    const { port } = await server.listenTls({ host: '127.0.0.1', ...own });
    const { key, cert } = await authority.issue({ commonName: 'worker', uriNames: ['drover://worker/worker-1'] });
    const env = { DROVER_WORKER_KEY: String(key), DROVER_WORKER_CERT: String(cert), DROVER_WORKER_CA: authority.ca };
    spawnWorker({ url: `https://127.0.0.1:${port}`, env });
    const worker = await eventually(() => {
      const arrived = arrivals.shift();
      if (!arrived) throw new Error('no worker has connected');
      return arrived;
    });
    await worker.next('startStream');
    expect(worker.stream.peer).toMatchObject({ kind: 'tls', certificate: { uriNames: ['drover://worker/worker-1'] } });
    const init = message('workerInitRequest', { functionAppDirectory: fixture('v4-commonjs') });
    await worker.request(init, 'workerInitResponse');
    const inputData = [{ name: 'input', data: { string: 'x' } }];
    const request = message('invocationRequest', { invocationId: 'i', functionId: 'environment', inputData });
    const { value } = await worker.request(request, 'invocationResponse');
    expect(value.returnValue?.json).not.toContain('DROVER_WORKER');
  });

  it('is not even tried with certificates that cannot be read', async () => {
    const env = { DROVER_WORKER_KEY: '/nowhere', DROVER_WORKER_CERT: '/nowhere', DROVER_WORKER_CA: '/nowhere' };
    const child = spawnWorker({ url: 'https://127.0.0.1:1', env });
    expect(await child.exited).toEqual({ code: 1, signal: null });
    expect(child.output).toContain('DROVER_WORKER_KEY is neither PEM nor the path of a readable file (ENOENT)');
  });

  it('needs all three of them', async () => {
    const child = spawnWorker({ url: 'https://127.0.0.1:1', env: { DROVER_WORKER_CERT: '/nowhere' } });
    expect(await child.exited).toEqual({ code: 1, signal: null });
    expect(child.output).toContain(
      'DROVER_WORKER_KEY is missing (an https URL requires it); DROVER_WORKER_CA is missing',
    );
  });
});

const bundle = path.join(fixture('..'), 'dist/bundle/node-worker.js');
describe.skipIf(!existsSync(bundle))('the worker as one file', () => {
  it.each(['v4-commonjs', 'v4-esm'])('serves apps like any other: %s', async (name) => {
    const worker = await WorkerUnderTest.withApp(name, { file: bundle });
    const { response } = await worker.call('hello', httpRequest('GET', 'http://localhost/?name=you'));
    expect(String(response.returnValue?.http?.body?.bytes)).toMatch(/^hello /);
  });

  it('warms up', async () => {
    const worker = await WorkerUnderTest.start({ file: bundle });
    await worker.init('');
    const { value } = await worker.admitted.request(message('workerWarmupRequest', {}), 'workerWarmupResponse');
    expect(value.result).toMatchObject({ status: 1 });
  });
});
