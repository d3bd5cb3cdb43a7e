import { existsSync } from 'node:fs';
import { symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { defaultTenantId } from '@drover/contracts';
import { Secret } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { attemptOf, definitionOf } from '../testing/attempts.js';
import { dispatcherContract } from '../testing/dispatcher-contract.js';
import { localBench } from './local-bench.test.fixture.js';
import type { LocalDispatcherOptions } from './local-dispatcher.js';

const open = localBench();
const secretOf = (value: string): Secret => new Secret(value);

describe.each(['processes', 'threads'] as const)(
  'LOCAL functions in %s',
  (driver: LocalDispatcherOptions['driver']) => {
    const openIt = (handlers: Readonly<Record<string, string>>) => open(handlers, { driver });

    it('get their input and a context, and answer with any JSON', async () => {
      const { call } = await openIt({
        'ctx.mjs': `export default async (input, { signal, logger, setStatus, setHeader, ...context }) => {
        setStatus(201); setHeader('X-Made-By', 'me');
        return { input, ...context, aborted: signal.aborted, log: typeof logger.info };
      };`,
      });
      const result = await call(
        'ctx.mjs',
        { a: [1, 'ü', null] },
        {
          number: 3,
          traceId: 'trace-1',
          metadata: { plan: 'gold' },
          headers: { 'x-a': 'b' },
        },
      );
      expect(result).toMatchObject({
        kind: 'success',
        statusCode: 201,
        headers: { 'x-made-by': 'me' },
        coldStart: true,
      });
      if (result.kind !== 'success') return;
      expect(result.initDurationMs).toBeGreaterThan(0);
      expect(JSON.parse(result.output.json)).toEqual({
        input: { a: [1, 'ü', null] },
        executionId: '01900000-0000-7000-8000-000000000001',
        functionName: 'ctx-mjs',
        attempt: 3,
        traceId: 'trace-1',
        metadata: { plan: 'gold' },
        headers: { 'x-a': 'b' },
        isColdStart: true,
        aborted: false,
        log: 'function',
      });
    });

    it.each([
      ['undefined is null', 'x.mjs', 'export default () => undefined', 'null', undefined],
      ['bytes are base64', 'x.mjs', 'export default async () => Buffer.from([1, 2, 255])', '"AQL/"', 'base64'],
      ['handler is a name, too', 'x.mjs', 'export const handler = (input) => input + 1', '8', undefined],
      ['CommonJS exports a function', 'x.cjs', 'module.exports = async (input) => [input]', '[7]', undefined],
      ['CommonJS exports a handler', 'x.cjs', 'exports.handler = (input) => -input', '-7', undefined],
      ['in folders below', 'a/b/x.mjs', 'export default (input) => input', '7', undefined],
    ])('%s', async (_, file, code, json, encoding) => {
      const { call } = await openIt({ [file]: code });
      expect(await call(file, 7)).toMatchObject({
        kind: 'success',
        output: encoding ? { json, encoding } : { json },
      });
    });

    it('get bytes as a Buffer', async () => {
      const { call } = await openIt({ 'x.mjs': 'export default (input) => [Buffer.isBuffer(input), ...input]' });
      const result = await call('x.mjs', undefined, { payload: { json: '"AQL/"', encoding: 'base64' } });
      expect(result).toMatchObject({ output: { json: '[true,1,2,255]' } });
    });

    it.each([
      ['throws', 'throw new TypeError("no such plan")', 'TypeError: no such plan', false],
      ['throws what is no error', 'throw "just text"', 'the handler threw just text', false],
      ['asks for another try', 'throw Object.assign(new Error("later"), { retryable: true })', 'Error: later', true],
      [
        'says that it is transient',
        'throw Object.assign(new Error("later"), { transient: true })',
        'Error: later',
        true,
      ],
      [
        'returns a circle',
        'const a = {}; a.a = a; return a',
        /cannot be written as JSON: TypeError: Converting circular/,
        false,
      ],
      ['returns a BigInt', 'return 1n', /cannot be written as JSON: TypeError: .*BigInt/, false],
      ['returns a function', 'return () => 1', 'the handler returned a function, which JSON cannot hold', false],
      [
        'returns too much',
        'return "x".repeat(9_000_000)',
        'the handler returned 9000002 bytes of JSON; the maximum is 8388608',
        false,
      ],
      ['sets no status', 'context.setStatus(99)', /^RangeError: setStatus/, false],
      ['smuggles headers', 'context.setHeader("a", "b\\r\\nc: d")', /^TypeError: the value of the header a/, false],
      [
        'throws something nasty',
        'throw { get message() { throw 1 } }',
        'the handler threw a value that cannot be read',
        false,
      ],
      ['throws at great length', 'throw new Error("y".repeat(10_000) + "\\u0000")', /^Error: y{1993}$/, false],
    ])('a handler that %s fails', async (_, code, message, transient) => {
      const { call } = await openIt({ 'x.mjs': `export default async (input, context) => { ${code} }` });
      const expected: unknown = typeof message === 'string' ? message : expect.stringMatching(message);
      expect(await call('x.mjs')).toEqual({ kind: 'failed', code: 'EXECUTION_FAILED', message: expected, transient });
      expect(await call('x.mjs')).toMatchObject({ code: 'EXECUTION_FAILED' });
    });

    it('get their own variables and none of this process', async () => {
      process.env['DATABASE_URL'] = 'postgres://secret';
      process.env['DROVER_TEST_SECRET'] = 'secret';
      try {
        const { dispatcher } = await openIt({ 'x.mjs': 'export default () => process.env' });
        const env = {
          GREETING: secretOf('hello'),
          NODE_OPTIONS: secretOf('--import data:text/javascript,process.exit(7)'),
        };
        const result = await dispatcher.dispatch(attemptOf(definitionOf({ handler: 'x.mjs', env })));
        if (result.kind !== 'success') throw new Error(JSON.stringify(result));
        const seen = JSON.parse(result.output.json) as Record<string, string>;
        expect(seen['GREETING']).toBe('hello');
        const allowed = ['GREETING', 'LANG', 'LC_ALL', 'NODE_ENV', 'PATH', 'TMPDIR', 'TZ'];
        expect(Object.keys(seen).filter((name) => !allowed.includes(name))).toEqual([]);
      } finally {
        delete process.env['DATABASE_URL'];
        delete process.env['DROVER_TEST_SECRET'];
      }
    });

    it('that block the event loop are killed; calls that had not begun run, and so do later ones', async () => {
      const { call, observed } = await openIt({
        'x.mjs': 'export default async (input) => { if (input === "spin") for (;;); return input }',
      });
      expect(await call('x.mjs', 'warm')).toMatchObject({ kind: 'success' });
      const spinning = call('x.mjs', 'spin');
      const behind = call('x.mjs', 'behind');
      await new Promise((resolve) => setImmediate(resolve));
      spinning.attempt.abandon();
      expect(await spinning).toMatchObject({ kind: 'timeout' });
      expect(await behind).toMatchObject({ kind: 'success', output: { json: '"behind"' } });
      await eventually(() => observed.some(({ kind }) => kind === 'local.stuck'));
      expect(await call('x.mjs', 'next')).toMatchObject({ kind: 'success', output: { json: '"next"' } });
    });

    it('that block the event loop fail the calls that had begun, as transient', async () => {
      const handler = `import { writeFileSync } from 'node:fs';
        let isWaiting = false;
        export default async (input) => {
          if (input === 'wait') {
            isWaiting = true;
            await new Promise((resolve) => setTimeout(resolve, 60_000));
          }
          while (!isWaiting) await new Promise(setImmediate);
          writeFileSync(input.spins, '');
          for (;;);
        }`;
      const { call, root } = await open({ 'x.mjs': handler }, { driver, maxWorkers: 1 });
      const spins = path.join(root, 'spins');
      const spinning = call('x.mjs', { spins });
      const neighbour = call('x.mjs', 'wait');
      await eventually(() => existsSync(spins));
      spinning.attempt.abandon();
      expect(await neighbour).toEqual({
        kind: 'failed',
        code: 'LOCAL_WORKER_CRASHED',
        message: 'the worker of the handler was ended because another call blocked its event loop',
        transient: true,
      });
    });

    it('log lines are observed, with the execution where it is known', async () => {
      const { call, observed } = await openIt({
        'x.mjs': 'export default (input, { logger }) => { logger.warn("low %d", 3); console.log("plain", { a: 1 }) }',
      });
      await call('x.mjs');
      await eventually(() => expect(observed.filter(({ kind }) => kind === 'local.line')).toHaveLength(2));
      expect(observed).toContainEqual({
        kind: 'local.line',
        tenantId: defaultTenantId,
        function: 'x-mjs',
        level: 'warn',
        text: 'low 3',
        executionId: '01900000-0000-7000-8000-000000000001',
      });
      expect(observed).toContainEqual(
        expect.objectContaining({ level: 'info', text: 'plain { a: 1 }', executionId: undefined }),
      );
    });

    it('are asked to stop by their signal', async () => {
      const { call, observed } = await openIt({
        'x.mjs': `export default (input, { signal, logger }) => new Promise((resolve) => {
        logger.info('waiting');
        signal.addEventListener('abort', () => { logger.info('stopped: ' + signal.reason.name); resolve(1); });
      });`,
      });
      const waiting = call('x.mjs');
      const texts = (): string[] => observed.flatMap((o) => (o.kind === 'local.line' ? [o.text] : []));
      await eventually(() => expect(texts()).toEqual(['waiting']));
      waiting.attempt.abandon('cancelled');
      await waiting;
      await eventually(() => expect(texts()).toEqual(['waiting', 'stopped: AbortError']));
      expect(observed.some(({ kind }) => kind === 'local.stuck')).toBe(false);
    });
  },
);

describe('LOCAL functions that cannot run', () => {
  it.each([
    [
      'a syntax error',
      'x.mjs',
      'export default () => {\n  return 1 +;\n}',
      /^x\.mjs cannot be loaded: SyntaxError: Unexpected token ';'$/,
    ],
    ['an error at the top', 'x.mjs', 'throw new Error("no database")', /^x\.mjs cannot be loaded: Error: no database$/],
    [
      'a missing import',
      'x.mjs',
      'import "./nowhere.mjs"',
      /^x\.mjs cannot be loaded: Error: Cannot find module '?nowhere\.mjs'? imported from x\.mjs$/,
    ],
    [
      'no handler',
      'x.mjs',
      'export const other = 1',
      /^x\.mjs exports other; export the handler as default or as "handler"$/,
    ],
  ])('%s is reported, and not as transient', async (_, file, code, message) => {
    const { call } = await open({ [file]: code });
    const results = await Promise.all([call(file), call(file), call(file)]);
    for (const result of results)
      expect(result).toEqual({
        kind: 'failed',
        code: 'LOCAL_UNAVAILABLE',
        message: expect.stringMatching(message) as unknown,
        transient: false,
      });
  });

  it('are tried again a while after the module was corrected', async () => {
    const { call, directory } = await open({ 'x.mjs': 'export default (' });
    expect(await call('x.mjs')).toMatchObject({ code: 'LOCAL_UNAVAILABLE' });
    await writeFile(path.join(directory, 'x.mjs'), 'export default () => "better"');
    await eventually(async () => expect(await call('x.mjs')).toMatchObject({ output: { json: '"better"' } }));
  });

  it('outside of the folder are refused, also through links', async () => {
    const { dispatcher, directory, root, call } = await open({ 'in.mjs': 'export default () => 1' });
    await writeFile(path.join(root, 'out.mjs'), 'export default () => "escaped"');
    await writeFile(path.join(directory, 'data.json'), '{}');
    await symlink(path.join(root, 'out.mjs'), path.join(directory, 'link.mjs'));
    await symlink(root, path.join(directory, 'up'));
    await symlink(path.join(directory, 'in.mjs'), path.join(directory, 'alias.mjs'));
    await symlink(path.join(directory, 'data.json'), path.join(directory, 'data.mjs'));
    const problem = (handler: string) => dispatcher.problemOf(definitionOf({ handler }));
    expect(await problem('in.mjs')).toBeUndefined();
    expect(await problem('alias.mjs')).toBeUndefined();
    for (const outside of ['link.mjs', 'up/out.mjs', '../out.mjs', 'a/../../out.mjs', path.join(root, 'out.mjs')]) {
      expect(await problem(outside)).toBe(`the handler ${outside} is outside the folder of handlers`);
      expect(await call(outside)).toMatchObject({ code: 'LOCAL_UNAVAILABLE', transient: false });
    }
    expect(await problem('none.mjs')).toBe('the folder of handlers has no none.mjs');
    expect(await problem('up')).toMatch(/must be a .js, .mjs or .cjs file/);
    expect(await problem('data.mjs')).toMatch(/must be a .js, .mjs or .cjs file/);
    expect(await problem('data.json')).toMatch(/must be a .js, .mjs or .cjs file/);
  });

  it('are refused, and not run with the rights of the platform, if their user cannot read them', async () => {
    const user = { uid: 65_530, gid: 65_530 };
    const { dispatcher, call } = await open({ 'a.mjs': 'export default () => 1' }, { user }); // in a folder of this user alone
    const refusal = /a\.mjs cannot be read by the user that runs functions \(uid 65530\).*DROVER_FUNCTIONS_USER/;
    expect(await dispatcher.problemOf(definitionOf({ handler: 'a.mjs' }))).toMatch(refusal);
    expect(await call('a.mjs')).toMatchObject({ kind: 'failed', message: expect.stringMatching(refusal) });
    const threads = await open({ 'a.mjs': 'export default () => 1' }, { user, driver: 'threads' }); // share the user anyway
    expect(await threads.dispatcher.problemOf(definitionOf({ handler: 'a.mjs' }))).toBeUndefined();
  });

  it('without a folder of handlers are told what to set', async () => {
    const { dispatcher, call } = await open({}, { directory: undefined });
    expect(await dispatcher.problemOf(definitionOf())).toMatch(/DROVER_HANDLERS_DIR/);
    expect(await call('x.mjs')).toMatchObject({
      code: 'LOCAL_UNAVAILABLE',
      transient: false,
      message: expect.stringContaining('DROVER_HANDLERS_DIR') as unknown,
    });
  });

  it('with variables that would load other code are refused', async () => {
    const { dispatcher } = await open({ 'hello.js': 'module.exports = () => 1' });
    const env = {
      NODE_OPTIONS: secretOf('x'),
      LD_PRELOAD: secretOf('x'),
      FINE: secretOf('x'),
      NODE_ENV: secretOf('x'),
    };
    expect(await dispatcher.problemOf(definitionOf({ env }))).toMatch(/NODE_OPTIONS, LD_PRELOAD in the mode LOCAL/);
  });
});

dispatcherContract('local', async () => {
  const { dispatcher, root, observed } = await open({
    'succeeds.mjs': 'export default () => ({ ok: true })',
    'fails.mjs': 'export default () => { throw new Error("no such plan") }',
    'waits.mjs': `import { existsSync } from 'node:fs';
      export default async (file, { signal, logger }) => {
        logger.info('begun');
        while (!existsSync(file) && !signal.aborted) await new Promise((resolve) => setTimeout(resolve, 5));
        logger.info('ended');
        return { ok: true };
      }`,
  });
  const flag = path.join(root, 'flag');
  const lines = (text: string): number =>
    observed.filter((line) => line.kind === 'local.line' && line.text === text).length;
  let isStopped = false;
  return {
    dispatcher,
    attempt: (behaviour) => attemptOf(definitionOf({ name: behaviour, handler: `${behaviour}.mjs` }), { input: flag }),
    // A worker that is ended says nothing.
    waiting: () => (isStopped ? 0 : lines('begun') - lines('ended')),
    finish: () => writeFile(flag, ''),
    stop: async () => {
      isStopped = true;
      await dispatcher.stop();
    },
    cleanUp: async () => undefined,
  };
});
