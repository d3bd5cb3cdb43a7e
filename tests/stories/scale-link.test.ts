import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { RuntimeIndexAnswer } from '@drover/contracts';
import { eventually, withScratchDirectory } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { app, helloApp } from '../support/functions.js';
import { LinkedRuntime } from '../support/linked-runtime.js';

/** Writes an app whose functions are in function.json files. */
async function writeApp(directory: string, functions: Readonly<Record<string, { bindings: object[]; code?: string }>>) {
  await writeFile(path.join(directory, 'host.json'), '{"version":"2.0"}');
  for (const [name, { bindings, code = 'module.exports = async () => undefined;' }] of Object.entries(functions)) {
    await mkdir(path.join(directory, name));
    await writeFile(path.join(directory, name, 'function.json'), JSON.stringify({ bindings }));
    await writeFile(path.join(directory, name, 'index.js'), code);
  }
}

const http = [
  { type: 'httpTrigger', direction: 'in', name: 'req', authLevel: 'anonymous' },
  { type: 'http', direction: 'out', name: '$return' },
];

describe('a runtime with a scale controller', () => {
  it('wakes an application at zero, serves it on a worker that had nothing of it, and parks it again', async () => {
    await using linked = await LinkedRuntime.start();
    const version = await linked.host('hello', helloApp);
    const answer = linked.call('/api/hello/you');
    await eventually(() =>
      expect(linked.of('request')).toMatchObject([
        { application: 'default/hello', versionKey: version, priority: 'urgent', reason: 'wake' },
      ]),
    );
    await linked.startWorker('w1', version);
    expect(await (await answer).json()).toEqual({ hello: 'you' });
    await eventually(() => expect(linked.of('sample').at(-1)?.applications).toMatchObject([{ capacity: 100 }]));

    await linked.expectDone({ kind: 'drain', workerId: 'w1', withinMs: 5_000 });
    await linked.until('w1', 'gone');
    expect((await linked.workers.get('w1')?.exited)?.code).toBe(0);
    await linked.expectDone({ kind: 'park', application: 'default/hello' });

    await linked.startWorker('p1');
    await linked.until('p1', 'placeholder');
    const again = linked.call('/api/hello/again');
    await eventually(() => expect(linked.of('request')).toHaveLength(2));
    await linked.expectDone({ kind: 'specialize', workerId: 'p1', versionKey: version, isIsolated: false });
    expect(await (await again).json()).toEqual({ hello: 'again' });

    const stale = await linked.command({ kind: 'drain', workerId: 'p1', withinMs: 0 }, 0);
    expect(stale.error?.code).toBe('SCALE_LINK_FENCED');
    expect((await linked.call('/api/hello')).status).toBe(200);
  });

  it('gets its workers back after kill -9, with the settings of their application', () =>
    withScratchDirectory(async (directory) => {
      await using linked = await LinkedRuntime.start();
      const code = 'module.exports = async () => ({ body: `${process.env.COLOR} ${process.pid}` });';
      await writeApp(directory, { color: { bindings: http, code } });
      const version = await linked.host('colors', directory, { COLOR: 'blue' });
      const worker = await linked.startWorker('w1', version);
      await linked.until('w1', 'ready');
      linked.runtime.kill('SIGKILL');
      await linked.runtime.exited;
      linked.received.splice(0);
      const { attach } = await linked.startRuntime();
      expect(attach).toMatchObject({ runtimeId: 'runtime-1', workers: [], applications: {} });
      expect(attach.incarnation).not.toBe(linked.attached[0]?.attach.incarnation);
      // The scale controller may announce workers first; a request must not find that the application is missing.
      const held = linked.call('/api/color');
      const announced = linked.announce('w1', version);
      for (const application of linked.hosted) await linked.expectDone({ kind: 'host', application });
      await announced;
      await linked.expectDone({ kind: 'synced' });
      expect(await (await held).text()).toBe(`blue ${worker.pid}`);
    }));

  it('keeps serving while the scale controller is away', async () => {
    await using linked = await LinkedRuntime.start();
    const version = await linked.host('hello', helloApp);
    await linked.startWorker('w1', version);
    await linked.until('w1', 'ready');
    linked.attached.at(-1)?.detach('the controller is away');
    expect((await linked.call('/api/hello')).status).toBe(200);
    await eventually(() => expect(linked.attached).toHaveLength(2));
    expect(linked.attached[1]?.attach).toMatchObject({
      workers: [{ workerId: 'w1', state: 'ready', versionKey: version }],
      applications: { 'default/hello': 1 },
    });
  });
});

describe('indexing for a deployment', () => {
  let linked: LinkedRuntime;
  beforeAll(async () => {
    linked = await LinkedRuntime.start();
  });
  afterAll(() => linked[Symbol.asyncDispose]());

  it('finds the functions with a worker that is gone afterwards, and leaves what runs alone', async () => {
    const answer = (await (await linked.index({ directory: helloApp })).json()) as RuntimeIndexAnswer;
    expect(answer).toMatchObject({
      kind: 'indexed',
      index: {
        functions: [
          {
            name: 'hello',
            triggerType: 'httpTrigger',
            isDisabled: false,
            route: { path: 'api/hello/{name?}', literals: ['api', 'hello'] },
          },
        ],
        problems: [],
      },
    });
    expect(linked.of('worker')).toEqual([]);
    expect((await linked.index({ directory: helloApp }, 'another key')).status).toBe(401);
    expect((await linked.call('/admin/indexes', { method: 'POST', body: '{}' })).status).toBe(401);
    const incomplete = await linked.index({ directory: '' });
    expect([incomplete.status, await incomplete.text()]).toEqual([
      400,
      expect.stringContaining('directory is not a text'),
    ]);
  });

  it.each<[string, Parameters<typeof writeApp>[1], string, object]>([
    [
      'a trigger whose connection is not set',
      {
        work: {
          bindings: [{ type: 'queueTrigger', direction: 'in', name: 'item', queueName: 'work', connection: 'Missing' }],
        },
      },
      'Missing',
      { kind: 'indexed' },
    ],
    [
      'a function that throws when it is loaded, beside one that does not',
      { good: { bindings: http }, bad: { bindings: http, code: 'throw new Error("no such thing");' } },
      'no such thing',
      { kind: 'indexed' },
    ],
    [
      'two functions with one name',
      { Twice: { bindings: http }, twice: { bindings: http } },
      'another function has the same name',
      { kind: 'indexed' },
    ],
    [
      'only a function that throws when it is loaded',
      { bad: { bindings: http, code: 'throw new Error("no such thing");' } },
      'no such thing',
      { kind: 'refused' },
    ],
    [
      'code that ends the process',
      { bad: { bindings: http, code: 'console.error("out of luck"); process.exit(7);' } },
      'exit code 7',
      { kind: 'refused' },
    ],
    ['no functions', {}, 'function', { kind: 'refused' }],
  ])('names %s', (_what, functions, expected, outcome) =>
    withScratchDirectory(async (directory) => {
      await writeApp(directory, functions);
      const response = await linked.index({ directory });
      const answer = (await response.json()) as RuntimeIndexAnswer;
      expect(answer).toMatchObject(outcome);
      const problems =
        answer.kind === 'refused' ? answer.problems : answer.index.problems.map(({ problem }) => problem);
      expect(problems.join('\n')).toContain(expected);
    }),
  );

  it('refuses a directory that is not there, and a host.json with errors', async () => {
    for (const [directory, expected] of [
      ['/no/such/directory', 'does not exist'],
      [app('broken-host-json'), 'host.json'],
    ] as const) {
      const answer = (await (await linked.index({ directory })).json()) as RuntimeIndexAnswer;
      expect(answer).toMatchObject({ kind: 'refused', problems: [expect.stringContaining(expected)] });
    }
  });
});
