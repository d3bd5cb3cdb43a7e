import { request } from 'node:http';
import { AzureQueueAccount, storageConnection } from '@drover/trigger-sources';
import { startAzurite, type Azurite } from '@drover/trigger-sources/testing';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { app, startRuntime, type Runtime } from '../support/functions.js';

const never = new AbortController().signal;

/** What the function wrote to its output. */
interface Done {
  readonly id: string;
  readonly isTold: boolean;
}

describe('a function', () => {
  let azurite: Azurite;
  let runtime: Runtime;
  beforeAll(async () => {
    azurite = await startAzurite();
    runtime = await startRuntime({
      apps: [app('departed'), app('departed-stream')],
      env: { AzureWebJobsStorage: azurite.connectionString },
    });
  });
  afterAll(async () => {
    await runtime.stop();
    await azurite.stop();
  });

  const queue = (name: string) => {
    const settings = { AzureWebJobsStorage: azurite.connectionString };
    const connection = storageConnection({ service: 'queue', functionName: 'test', connection: undefined, settings });
    return new AzureQueueAccount(connection).queue(name);
  };

  /** Resolves with the outputs in a queue once there are so many. */
  async function outputs(queueName: string, count: number): Promise<Done[]> {
    const found: Done[] = [];
    await eventually(async () => {
      const messages = await queue(queueName).receive({ count: 32, leaseMs: 600_000 }, never);
      for (const { text } of messages) found.push(JSON.parse(Buffer.from(text, 'base64').toString()) as Done);
      expect(found.length).toBeGreaterThanOrEqual(count);
    });
    return found;
  }

  /** Calls on a connection that is closed after the answer. Resolves with the status. */
  const callAndClose = (address: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const client = request(`${runtime.url}${address}`, { headers: { connection: 'close' } });
      client.on('error', reject).on('response', (answer) => {
        answer.resume().once('close', () => resolve(answer.statusCode));
      });
      client.end();
    });
  /** Calls and leaves once the function runs. */
  const leave = async (address: string): Promise<void> => {
    const client = new AbortController();
    const begun = (): number => runtime.log.filter(({ msg }) => /^leave (gone|last) begins$/.test(msg)).length;
    const before = begun();
    const answered = runtime.call(address, { signal: client.signal }).then(
      () => true,
      () => false,
    );
    await eventually(() => begun() > before);
    client.abort();
    expect(await answered).toBe(false);
  };

  describe.each([
    ['that answers as a whole', '/api/leave', 'departed'],
    ['that answers as a stream', '/api/stream/leave', 'departed-stream'],
  ])('%s', (_, route, queueName) => {
    it('has its outputs written though its client leaves after its answer', async () => {
      const ids = Array.from({ length: 10 }, (__, id) => `closed-${id}`);
      const statuses = await Promise.all(ids.map((id) => callAndClose(`${route}/${id}`)));
      expect(new Set(statuses)).toEqual(new Set([202]));
      const done = await outputs(queueName, 10);
      expect(done.map(({ id }) => id).toSorted()).toEqual(ids);
      expect(done.some(({ isTold }) => isTold)).toBe(false);
    });

    it('is told that its client left before its answer, runs to its end, and has its outputs written', async () => {
      await leave(`${route}/gone?until-told`);
      expect(await outputs(queueName, 1)).toEqual([{ id: 'gone', isTold: true }]);
    });
  });

  it('whose output cannot be written has failed: in the log, and for its caller, with what was written', async () => {
    const answer = await runtime.call('/api/twoOutputs');
    const said = (await answer.json()) as { error: string; message: string; requestId: string };
    expect(answer.status).toBe(500);
    expect(said.error).toBe('RUNTIME_OUTPUT_REFUSED');
    expect(said.message).toMatch(
      /twoOutputs ran, but its output "queueOutput\w+" could not be written: .*queue second .*Already written: "queueOutput\w+"/,
    );
    const executed = (name: string): string[] =>
      runtime.log.flatMap(({ kind, function: own, msg }) => (kind === 'invocation.ended' && own === name ? [msg] : []));
    expect(executed('twoOutputs')).toEqual([expect.stringMatching(/^Executed .*\(Failed, Id=/)]);
    const two = queue('two');
    await two.create(never);
    await two.send(Buffer.from('x').toString('base64'), { keep: 'by-default' }, never);
    await eventually(() => expect(executed('twoOutputsOfMessage')).toHaveLength(1));
    expect(executed('twoOutputsOfMessage')[0]).toMatch(/\(Failed, Id=/);
    const metrics = await (await runtime.call('/metrics')).text();
    for (const name of ['twoOutputs', 'twoOutputsOfMessage']) {
      expect(metrics).toMatch(new RegExp(`invocation_seconds_count\\{[^}]*function="${name}",outcome="failed"`));
      expect(metrics).not.toMatch(new RegExp(`invocation_seconds_count\\{[^}]*function="${name}",outcome="succeeded"`));
    }
  });

  describe('that answers through the server of its worker', () => {
    const texts = async (): Promise<string[]> =>
      (await queue('written').receive({ count: 32, leaseMs: 600_000 }, never)).map(({ text }) =>
        Buffer.from(text, 'base64').toString(),
      );

    it.each(['text', 'json', 'large'])('has its outputs written before an answer of the kind %s', async (kind) => {
      for (let round = 0; round < 5; round += 1) {
        const answer = await runtime.call(`/api/stream/written/${kind}`);
        expect([answer.status, answer.headers.get('x-drover-whole-answer')]).toEqual([200, null]);
        const found = await texts();
        await answer.arrayBuffer();
        expect(found).toEqual([kind]);
      }
    });

    it('is answered with a failure if its output fails', async () => {
      for (const kind of ['text', 'large']) {
        const answer = await runtime.call(`/api/stream/written/${kind}?fail`);
        expect([answer.status, await answer.json()]).toMatchObject([500, { error: 'RUNTIME_OUTPUT_REFUSED' }]);
      }
    });

    it('streams an answer while it runs', async () => {
      const client = new AbortController();
      const answer = await runtime.call('/api/stream/streamed', { signal: client.signal });
      const reader = answer.body?.getReader();
      expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('first ');
      client.abort();
      await eventually(async () => expect(await texts()).toEqual(['streamed']));
    });
  });

  it('that streams and returns nothing is answered with an empty success', async () => {
    const answer = await runtime.call('/api/stream/nothing');
    expect([answer.status, await answer.text()]).toEqual([204, '']);
  });

  it('that fails has its exception in the log with file and line', async () => {
    const thrown = (name: string): string =>
      runtime.log.find((line) => line.kind === 'invocation.threw' && line['function'] === name)?.msg ?? '';
    expect((await runtime.call('/api/fails')).status).toBe(500);
    await eventually(() =>
      expect(thrown('fails')).toMatch(/Error: this function fails\n.*departed\/index\.js:\d+:\d+/),
    );
    const failing = queue('failing');
    await failing.create(never);
    await failing.send(Buffer.from('x').toString('base64'), { keep: 'by-default' }, never);
    await eventually(() =>
      expect(thrown('failsToo')).toMatch(/TypeError: this one too\n.*departed\/index\.js:\d+:\d+/),
    );
  });

  it('that fails deep down has its own frames in the log, and none of the worker', async () => {
    expect((await runtime.call('/api/deep')).status).toBe(500);
    const frames = (): string[] =>
      runtime.log.flatMap(({ kind, function: name, msg }) =>
        kind === 'invocation.threw' && name === 'deep' ? msg.split('\n').filter((line) => /^\s+at /.test(line)) : [],
      );
    await eventually(() => expect(frames()).toHaveLength(14));
    for (const frame of frames())
      expect(frame).toMatch(/at (descend|async handler|handler|Object\.handler).*departed\/index\.js/);
  });

  it('with bindings that are not supported runs, and fails only when it uses one', async () => {
    expect(runtime.said).toContain('elsewhere: output binding "sql');
    expect(runtime.said).toContain('has the type cosmosDB, which is not supported');
    expect((await runtime.call('/api/elsewhere')).status).toBe(200);
    expect((await runtime.call('/api/elsewhere?use=input')).status).toBe(500);
    await eventually(() => expect(runtime.said).toMatch(/has the type cosmosDB, which the host does not support/));
    expect((await runtime.call('/api/elsewhere?use=output')).status).toBe(500);
    await eventually(() => expect(runtime.said).toMatch(/outputs of the type sql are not supported/));
  });

  it('has its outputs written before the runtime ends, though its client has left', async () => {
    for (const route of ['/api/leave', '/api/stream/leave']) await leave(`${route}/last?until-told&ms=600`);
    await runtime.stop();
    for (const queueName of ['departed', 'departed-stream'])
      expect(await outputs(queueName, 1)).toEqual([{ id: 'last', isTold: true }]);
    const reported = runtime.log.flatMap(({ kind, function: name }) => (kind === 'output.failed' ? [name] : kind));
    expect(reported).not.toContain('invocation.stray');
    expect(reported).not.toContain('leave');
  });
});
