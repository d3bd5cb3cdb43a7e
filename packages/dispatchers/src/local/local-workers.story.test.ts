import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { eventually, isAlive } from '@drover/testkit';
import { Secret } from '@drover/service-kit';
import { describe, expect, it } from 'vitest';
import { attemptOf, definitionOf } from '../testing/attempts.js';
import { localBench } from './local-bench.test.fixture.js';

const open = localBench();

describe('workers of LOCAL functions', () => {
  it.each([
    ['exits', 'process.exit(3)', /ended with exit code 3 while the handler ran$/],
    ['is killed', 'process.kill(process.pid, "SIGKILL"); await new Promise(() => {})', /ended by SIGKILL while/],
    [
      'throws outside of the call',
      'setTimeout(() => { throw new RangeError("astray") }); await new Promise(() => {})',
      /exit code 1 while the handler ran: RangeError: astray$/,
    ],
    [
      'forgets a rejection',
      'Promise.reject(new Error("lost")); await new Promise(() => {})',
      /exit code 1 while the handler ran: Error: lost$/,
    ],
  ])('a worker that %s is a crash, which may be retried', async (_, code, message) => {
    const { call, observed } = await open({
      'x.mjs': `export default async (input) => { if (input === 'die') { ${code} } return 'alive'; }`,
    });
    expect(await call('x.mjs', 'die')).toEqual({
      kind: 'failed',
      code: 'LOCAL_WORKER_CRASHED',
      message: expect.stringMatching(message) as unknown,
      transient: true,
    });
    expect(observed.some(({ kind }) => kind === 'local.crashed')).toBe(true);
    // Another one takes its place, and is cold again.
    expect(await call('x.mjs')).toMatchObject({ kind: 'success', output: { json: '"alive"' }, coldStart: true });
    expect(await call('x.mjs')).toEqual({ kind: 'success', output: { json: '"alive"' } });
  });

  it('that use more memory than allowed crash, and the message says so', async () => {
    const { dispatcher } = await open({
      'x.mjs':
        'const kept = []; export default async () => { for (;;) { kept.push(Buffer.alloc(8e6, 1)); await new Promise(setImmediate) } }',
    });
    const definition = definitionOf({
      handler: 'x.mjs',
      spec: { name: 'hello', resources: { limits: { memoryMiB: 150 } } },
    });
    expect(await dispatcher.dispatch(attemptOf(definition))).toMatchObject({
      code: 'LOCAL_WORKER_CRASHED',
      message: expect.stringContaining('out of memory') as unknown,
      transient: true,
    });
  });

  it('that die of every call are not restarted for a while', async () => {
    const { call } = await open({ 'x.mjs': 'export default () => process.exit(1)' });
    const codes = new Set<string>();
    await eventually(async () => {
      const result = await call('x.mjs');
      if (result.kind === 'failed') codes.add(result.code);
      expect(result).toMatchObject({ code: 'LOCAL_UNAVAILABLE', transient: true, retryAfterMs: 1_000 });
    });
    expect([...codes]).toEqual(['LOCAL_WORKER_CRASHED', 'LOCAL_UNAVAILABLE']);
  });

  it('all calls of a killed worker fail as after a crash', async () => {
    const { call, pids } = await open(
      { 'x.mjs': 'export default (ms) => new Promise((resolve) => setTimeout(resolve, ms, process.pid))' },
      { maxWorkers: 1 },
    );
    await call('x.mjs', 0);
    const waiting = [call('x.mjs', 60_000), call('x.mjs', 60_000), call('x.mjs', 60_000)];
    await call('x.mjs', 1);
    const [pid = Number.NaN] = pids();
    process.kill(pid, 'SIGKILL');
    for (const result of await Promise.all(waiting))
      expect(result).toMatchObject({ code: 'LOCAL_WORKER_CRASHED', transient: true });
  });

  it('that are killed again and again under load lose nothing: every call is answered, or may be tried again', async () => {
    const { dispatcher, pids } = await open({
      'x.mjs': 'export default async (n) => { await new Promise(setImmediate); return n }',
    });
    const definition = definitionOf({ handler: 'x.mjs', concurrency: 16 });
    const wrong: unknown[] = [];
    let [next, successes, failures] = [0, 0, 0];
    const client = async (): Promise<void> => {
      while (next < 4_000) {
        const n = (next += 1);
        if (n % 500 === 0) for (const pid of pids().slice(0, 1)) process.kill(pid, 'SIGKILL');
        const result = await dispatcher.dispatch(attemptOf(definition, { input: n }));
        if (result.kind === 'success' && result.output.json === String(n)) successes += 1;
        else if (result.kind === 'failed' && result.transient) failures += 1;
        else wrong.push(result);
      }
    };
    await Promise.all(Array.from({ length: 16 }, client));
    expect(wrong).toEqual([]);
    expect(successes + failures).toBe(next);
    expect(successes).toBeGreaterThan(1_000);
  });

  it('are replaced when variables or the handler change, also while calls run on them', async () => {
    const code = (name: string) =>
      `export default (ms) => new Promise((resolve) => setTimeout(resolve, ms, ['${name}', process.env.GREETING, process.pid]))`;
    const { dispatcher, pids } = await open({ 'a.mjs': code('a'), 'b.mjs': code('b') });
    const run = async (changes: Parameters<typeof definitionOf>[0], ms = 0): Promise<unknown[]> => {
      const result = await dispatcher.dispatch(attemptOf(definitionOf(changes), { input: ms }));
      if (result.kind !== 'success') throw new Error(JSON.stringify(result));
      return JSON.parse(result.output.json) as unknown[];
    };
    const first = { handler: 'a.mjs', env: { GREETING: new Secret('one') } };
    const [, , pid] = await run(first);
    const busy = run(first, 300);
    expect((await run({ ...first, revision: 2, env: { GREETING: new Secret('two') } })).slice(0, 2)).toEqual([
      'a',
      'two',
    ]);
    const third = await run({ handler: 'b.mjs', revision: 3, env: { GREETING: new Secret('two') } });
    expect(third.slice(0, 2)).toEqual(['b', 'two']);
    expect(await busy).toEqual(['a', 'one', pid]);
    const [, , last] = await run({
      handler: 'b.mjs',
      revision: 4,
      concurrency: 2,
      env: { GREETING: new Secret('two') },
    });
    await eventually(() => expect(pids()).toEqual([last])); // another concurrency starts nothing anew
  });

  it('belong to one tenant and one generation only', async () => {
    const { dispatcher, call, pids } = await open({
      'x.mjs': 'globalThis.n = 0; export default () => [process.pid, ++n]',
    });
    const run = async (changes: Parameters<typeof definitionOf>[0]): Promise<number> => {
      const result = await dispatcher.dispatch(attemptOf(definitionOf({ handler: 'x.mjs', ...changes })));
      if (result.kind !== 'success') throw new Error(JSON.stringify(result));
      const [pid = 0, n] = JSON.parse(result.output.json) as number[];
      expect(n).toBe(1);
      return pid;
    };
    const found = [
      await run({}),
      await run({ tenantId: 'other' as never }),
      await run({ generation: 2 }),
      await run({ name: 'else' }),
    ];
    expect(new Set(found).size).toBe(4);
    expect(new Set(pids())).toEqual(new Set(found));
    expect(await call('x.mjs')).toMatchObject({ kind: 'success' });
  });

  it('with a handler that ignores its signal end after their other calls', async () => {
    const { call, pids } = await open(
      {
        'x.mjs': `export default (input) => input === 'stay' ? new Promise(() => setInterval(() => {}, 1000))
        : new Promise((resolve) => setTimeout(resolve, input, process.pid))`,
      },
      { maxWorkers: 1, lingerMs: 50 },
    );
    await call('x.mjs', 0);
    const [old = 0] = pids();
    const ignoring = call('x.mjs', 'stay');
    const neighbour = call('x.mjs', 400);
    await call('x.mjs', 1);
    ignoring.attempt.abandon();
    expect(await neighbour).toMatchObject({ kind: 'success', output: { json: String(old) } });
    await eventually(() => !isAlive(old));
    expect(await call('x.mjs', 0)).toMatchObject({ kind: 'success', coldStart: true });
  });

  it('of a forgotten function end after their last call', async () => {
    const { dispatcher, pids, directory } = await open({
      'x.mjs': `import { existsSync } from 'node:fs';
        export default async (file) => { while (file && !existsSync(file)) await new Promise((go) => setTimeout(go, 5)); return 1 }`,
    });
    const definition = definitionOf({ handler: 'x.mjs' });
    const flag = path.join(directory, 'flag');
    await dispatcher.dispatch(attemptOf(definition));
    const running = dispatcher.dispatch(attemptOf(definition, { input: flag }));
    const old = pids();
    dispatcher.forget(definition);
    await dispatcher.dispatch(attemptOf(definition));
    expect(old.every(isAlive)).toBe(true);
    await writeFile(flag, '');
    expect(await running).toMatchObject({ kind: 'success' });
    await eventually(() => !old.some(isAlive));
    expect(pids()).toHaveLength(1);
  });

  it('are started as calls need them, up to their number, and slow calls overlap', async () => {
    const { dispatcher, pids } = await open({
      'x.mjs': `let [running, most] = [0, 0];
        export default async (ms) => {
          most = Math.max(most, ++running);
          await new Promise((resolve) => setTimeout(resolve, ms));
          running -= 1;
          return most;
        }`,
    });
    const definition = definitionOf({ handler: 'x.mjs', concurrency: 32 });
    const results = await Promise.all(
      Array.from({ length: 32 }, () => dispatcher.dispatch(attemptOf(definition, { input: 300 }))),
    );
    expect(results.every(({ kind }) => kind === 'success')).toBe(true);
    const mostAtOnce = results.map((result) => (result.kind === 'success' ? Number(result.output.json) : 0));
    expect(Math.max(...mostAtOnce)).toBeGreaterThan(1);
    expect(pids().length).toBeLessThanOrEqual(2);
  });

  it('take a mebibyte and give it back', async () => {
    const { call } = await open({ 'x.mjs': 'export default (input) => input' });
    const big = { text: 'ä"\\\n'.repeat(150_000) };
    const result = await call('x.mjs', big);
    expect(result.kind === 'success' && JSON.parse(result.output.json)).toEqual(big);
  });

  it('exist for a limited number of functions: an idle one makes room; if none is idle, the call is transient', async () => {
    const handlers = Object.fromEntries(
      ['a', 'b', 'c'].map((name) => [
        `${name}.mjs`,
        'export default (stay) => stay ? new Promise(() => {}) : process.pid',
      ]),
    );
    const { call, pids } = await open(handlers, { maxPools: 2 });
    await call('a.mjs');
    await call('b.mjs');
    const before = pids();
    expect(await call('c.mjs')).toMatchObject({ kind: 'success' });
    await eventually(() => expect(before.filter(isAlive)).toHaveLength(1));
    void call('b.mjs', true);
    void call('c.mjs', true);
    expect(await call('a.mjs')).toMatchObject({ code: 'LOCAL_BUSY', transient: true });
  });

  it('end after a time without calls', async () => {
    const { call, pids } = await open({ 'x.mjs': 'export default () => 1' }, { idleMs: 100 });
    await call('x.mjs');
    const [pid = 0] = pids();
    await eventually(() => expect(isAlive(pid)).toBe(false));
    expect(await call('x.mjs')).toMatchObject({ kind: 'success', coldStart: true });
  });

  it('are awaited by drain and gone after stop, whatever they do', async () => {
    const { dispatcher, call, pids } = await open({
      'x.mjs': `import { spawn } from 'node:child_process'; process.on('SIGTERM', () => {});
        export default async (input) => {
          if (input === 'child') return spawn('sleep', ['100']).pid;
          if (input === 'stay') await new Promise(() => {});
          await new Promise((resolve) => setTimeout(resolve, 100)); return 1;
        }`,
    });
    const child = await call('x.mjs', 'child');
    const grandchild = child.kind === 'success' ? Number(child.output.json) : 0;
    expect(isAlive(grandchild)).toBe(true);
    let isOver = false;
    const last = call('x.mjs', 1).then((result) => ((isOver = true), result));
    await dispatcher.drain(AbortSignal.timeout(10_000));
    expect(isOver).toBe(true);
    expect(await last).toMatchObject({ kind: 'success' });
    const stuck = call('x.mjs', 'stay');
    await dispatcher.drain(AbortSignal.timeout(50));
    const all = pids();
    await dispatcher.stop();
    expect(await stuck).toMatchObject({ code: 'LOCAL_UNAVAILABLE', transient: true });
    await eventually(() => expect([...all, grandchild].filter(isAlive)).toEqual([]));
    expect(await call('x.mjs')).toMatchObject({ code: 'LOCAL_UNAVAILABLE', transient: true });
    await dispatcher.stop();
  });

  it('keep the variables of this process out of their own even from the system', async () => {
    const { call } = await open({
      'x.mjs': `import { readFileSync } from 'node:fs'; export default () => readFileSync('/proc/self/environ', 'latin1')`,
    });
    if (process.platform !== 'linux') return;
    process.env['DROVER_TEST_SECRET'] = 'swordfish';
    const result = await call('x.mjs').finally(() => delete process.env['DROVER_TEST_SECRET']);
    expect(result).toMatchObject({ kind: 'success' });
    expect(JSON.stringify(result)).not.toContain('swordfish');
  });
});
