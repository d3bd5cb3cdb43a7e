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
