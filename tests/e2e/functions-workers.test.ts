import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { nodeWorkerFile } from '@drover/node-worker';
import { Child, eventually, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { root } from '../architecture/workspace.js';
import { app, asFlags, helloApp, withRuntime, workerCertificate, type Runtime } from '../support/functions.js';
import { plainEnvironment } from '../support/platform.js';

describe('the listener for function workers of other machines', () => {
  /** A worker as on another machine: it connects to the TLS listener of the runtime. */
  async function startWorker(
    runtime: Runtime,
    certificates: string,
    { id, named = id, app: runs }: { id: string; named?: string; app?: string },
  ) {
    const listening = runtime.log.find(({ kind, listener }) => kind === 'rpc.listening' && listener === 'tls');
    const port = String(listening?.['address']).split(':').at(-1);
    const { key, cert, ca } = await workerCertificate(certificates, named, runs);
    const flags = asFlags({
      'functions-uri': `https://localhost:${port}/`,
      'functions-worker-id': id,
      'functions-request-id': randomUUID(),
      'functions-grpc-max-message-length': '134217728',
    });
    return new Child(process.execPath, [nodeWorkerFile(), ...flags], {
      env: plainEnvironment({
        DROVER_WORKER_KEY: String(key),
        DROVER_WORKER_CERT: String(cert),
        DROVER_WORKER_CA: String(ca),
        DROVER_WORKER_RECONNECT_MS: '0',
      }),
    });
  }

  const connected = (runtime: Runtime, id: string): boolean =>
    runtime.log.some(({ kind, workerId }) => kind === 'worker.connected' && workerId === id);

  const serves = (runtime: Runtime, id: string): boolean =>
    runtime.log.some(({ kind, workerId }) => kind === 'worker.specialized' && workerId === id);

  it('accepts a worker with a certificate of its authority, and refuses one with the certificate of another worker', () =>
    withScratchDirectory((scratch) => {
      const certificates = path.join(scratch, 'certificates');
      return withRuntime({ apps: [helloApp], args: ['--certificates', certificates] }, async (runtime) => {
        expect((await runtime.call('/api/hello/you')).status).toBe(200);
        const welcome = await startWorker(runtime, certificates, { id: 'from-afar', app: 'hello-app' });
        const imposter = await startWorker(runtime, certificates, { id: 'imposter', named: 'another' });
        const stranger = await startWorker(runtime, path.join(scratch, 'other'), { id: 'stranger' });
        try {
          await eventually(() => connected(runtime, 'from-afar'));
          await eventually(() => serves(runtime, 'from-afar'));
          expect((await imposter.exited).code).toBe(1);
          expect((await stranger.exited).code).toBe(1);
          expect(connected(runtime, 'imposter')).toBe(false);
          expect(connected(runtime, 'stranger')).toBe(false);
          const refusals = (): string[] =>
            runtime.log.flatMap(({ kind, reason }) => (kind === 'rpc.refused' ? [String(reason)] : []));
          await eventually(() => expect(refusals()).toContain('the certificate does not name this worker id'));
          expect(imposter.output).toContain('the certificate does not name this worker id');
          // A second one of the same name is refused, the first stays.
          const twin = await startWorker(runtime, certificates, { id: 'from-afar' });
          await twin.exited;
          await eventually(() => expect(runtime.said).toContain('worker from-afar is already connected'));
          expect(welcome.process.exitCode).toBeNull();
          expect((await runtime.call('/api/hello/you')).status).toBe(200);
        } finally {
          await Promise.all([welcome, imposter, stranger].map((child) => child.end()));
        }
      });
    }));
});

describe('the default function worker', () => {
  const started = async (runtime: Runtime): Promise<unknown> => (await runtime.call('/api/start')).json();

  it('is the one of Drover, gets the directories that the official host tells, and waits for a debugger if it shall', () => {
    const env = { DROVER_FUNCTIONS_ENVIRONMENT: 'Development' };
    return withRuntime({ apps: [app('curious')], args: ['--inspect', '0'], env }, async (runtime) => {
      expect(await started(runtime)).toEqual({
        environment: {
          AZURE_FUNCTIONS_ENVIRONMENT: 'Development',
          AzureWebJobsScriptRoot: app('curious'),
          FUNCTIONS_WORKER_DIRECTORY: path.join(root, 'apps/node-worker'),
        },
        arguments: ['--inspect=0'],
      });
      await eventually(() => expect(runtime.said).toMatch(/Debugger listening on ws:\/\/127\.0\.0\.1:\d+/));
    });
  });
});

describe('a function worker that is not ours', () => {
  const command = `"${process.execPath}" "${path.join(root, 'tests/compat/foreign-worker.mjs')}"`;
  const foreignApp = path.join(root, 'tests/compat/apps/foreign');

  const ask = async (runtime: Runtime): Promise<Record<string, unknown>> => {
    const answer = await runtime.call('/api/answer/you?a=1&b=', {
      method: 'POST',
      headers: { 'user-agent': 'tests', 'content-type': 'application/json' },
      body: '{"x":1}',
    });
    expect(answer.status).toBe(201);
    return (await answer.json()) as Record<string, unknown>;
  };

  it('that behaves as the official one for Node.js is brought up, runs functions, and ends when it is told to', () =>
    withRuntime({ apps: [foreignApp], workerCommand: command, env: { DROVER_LOG_LEVEL: 'debug' } }, async (runtime) => {
      expect(await ask(runtime)).toEqual({
        order: ['init', 'metadata', 'load answer'],
        name: 'answer',
        script: 'answer.js',
        input: 'httpTrigger1',
        method: 'POST',
        url: `${runtime.url}/api/answer/you?a=1&b=`,
        plain: { params: {}, query: {} },
        nullable: { params: { name: 'you' }, query: { a: '1', b: '' }, agent: 'tests' },
        body: ['bytes', '{"x":1}'],
        rawBody: null,
        trace: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-0\d$/),
        metadata: expect.arrayContaining(['Headers', 'Query', 'name']),
      });
      const log = runtime.log.map(({ msg }) => msg);
      expect(log).toContain('the foreigner works');
      expect(log.some((line) => line.startsWith(`initialized for ${foreignApp} by host 4.`))).toBe(true);
      const exit = await runtime.stop();
      expect(exit).toEqual({ code: 0, signal: null });
      expect(runtime.said).toContain('told to end');
      expect(runtime.log.filter(({ kind }) => kind === 'worker.lost')).toEqual([]);
    }));

  it('that can do nothing special, and leaves it to the host to find functions, is served in the old way', () =>
    withRuntime({ apps: [foreignApp], workerCommand: command, env: { FOREIGN_STYLE: 'plain' } }, async (runtime) => {
      expect(await ask(runtime)).toMatchObject({
        order: ['init', 'metadata', 'load Legacy'],
        name: 'Legacy',
        script: expect.stringMatching(/handler\.py$/),
        input: 'req',
        plain: { params: { name: 'you' }, query: { a: '1' }, agent: 'tests' },
        nullable: { params: {}, query: {} },
        body: ['json', '{"x":1}'],
        rawBody: ['string', '{"x":1}'],
      });
    }));

  it('that dies is replaced', () =>
    withRuntime({ apps: [foreignApp], workerCommand: command }, async (runtime) => {
      await ask(runtime);
      const [victim] = runtime.workers;
      if (victim === undefined) return expect.unreachable('no worker runs');
      process.kill(victim, 'SIGKILL');
      await eventually(async () => expect(await ask(runtime)).toMatchObject({ name: 'answer' }));
      expect(runtime.workers).not.toContain(victim);
    }));
});
