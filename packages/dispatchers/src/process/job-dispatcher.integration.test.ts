import { existsSync, readdirSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Secret, systemClock } from '@drover/service-kit';
import { Child, eventually, isAlive, withScratchDirectory } from '@drover/testkit';
import { build } from 'esbuild';
import { afterEach, describe, expect, it } from 'vitest';
import type { FunctionsUser } from '../functions-user.js';
import { attemptOf, definitionOf, type AttemptChanges } from '../testing/attempts.js';
import { dispatcherContract, type FunctionBehaviour } from '../testing/dispatcher-contract.js';
import { makeJobDirectory, removeStaleJobDirectories } from './job-directories.js';
import { ProcessJobRunner } from './process-job-runner.js';
import { JobDispatcher } from './job-dispatcher.js';
import { jobReaders, type JobObservation } from './observations.js';

const closing: (() => Promise<void>)[] = [];
const jobDirectories = async (): Promise<string[]> =>
  (await readdir(tmpdir())).filter((name) => name.startsWith(`drover-job-${process.pid}-`));

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface OpenOptions {
  readonly maxJobs?: number;
  readonly graceMs?: number;
  readonly maxOutputBytes?: number;
  readonly user?: FunctionsUser;
}

function open({ maxJobs = 8, graceMs = 300, maxOutputBytes = 8 * 1_024 * 1_024, user }: OpenOptions = {}) {
  const observed: JobObservation[] = [];
  const observe = (observation: JobObservation): void => void observed.push(observation);
  const io = { clock: systemClock, observe };
  const runner = new ProcessJobRunner({ environment: process.env, graceMs, maxOutputBytes, user, ...io });
  const dispatcher = new JobDispatcher({ runner, maxJobs, ...io });
  const seen = new Set<number>();
  closing.push(async () => {
    for (const pid of runner.pids) seen.add(pid);
    await dispatcher.stop();
    expect([...seen].filter(isAlive)).toEqual([]);
  });
  /** Runs a program of Node and says what became of it. */
  const run = (program: string, input: unknown = null, changes: AttemptChanges = {}) =>
    runCommand([process.execPath, '-e', program], input, changes);
  const runCommand = (
    command: readonly string[],
    input: unknown = null,
    changes: AttemptChanges = {},
    env: Readonly<Record<string, Secret>> = {},
  ) => {
    const attempt = attemptOf(definitionOf({ mode: 'REMOTE', spec: { name: 'hello', command: [...command] }, env }), {
      input,
      ...changes,
    });
    return Object.assign(dispatcher.dispatch(attempt), { attempt });
  };
  return { dispatcher, runner, observed, run, runCommand };
}

/** Prints its pid and that of a child, then waits for ever, deaf to SIGTERM if it is told so. */
const family = (deaf: boolean, file: string): string =>
  `const child = require('child_process').spawn('sleep', ['100'], { stdio: 'ignore' });
   ${deaf ? "process.on('SIGTERM', () => {});" : ''}
   require('fs').writeFileSync(${JSON.stringify(file)}, JSON.stringify([process.pid, child.pid]));
   setInterval(() => {}, 1000)`;

describe('jobs', () => {
  it('are told everything in their environment, and nothing of ours', async () => {
    process.env['DATABASE_URL'] = 'postgres://secret';
    process.env['DROVER_TEST_SECRET'] = 'secret';
    const { runCommand } = open();
    const program = 'process.stdout.write(JSON.stringify({ ...process.env, cwd: process.cwd() }))';
    const result = await runCommand(
      [process.execPath, '-e', program],
      { n: 1 },
      { number: 2, traceId: 'trace-1', idempotencyKey: 'key-1', metadata: { plan: 'gold' }, timeoutMs: 1_234 },
      { GREETING: new Secret('hello'), EXECUTION_ID: new Secret('forged') },
    ).finally(() => {
      delete process.env['DATABASE_URL'];
      delete process.env['DROVER_TEST_SECRET'];
    });
    if (result.kind !== 'success') throw new Error(JSON.stringify(result));
    const { cwd, HOME, TMPDIR, ...seen } = JSON.parse(result.output.json) as Record<string, string>;
    expect([HOME, TMPDIR]).toEqual([cwd, cwd]);
    for (const name of ['PATH', 'LANG', 'LC_ALL', 'TZ', 'NODE_ENV', 'PWD']) delete seen[name];
    expect(seen).toEqual({
      FUNCTION_NAME: 'hello',
      EXECUTION_ID: '01900000-0000-7000-8000-000000000001',
      CALLBACK_URL: 'http://platform.test/v1/internal/executions',
      INVOCATION_PAYLOAD: '{"input":{"n":1},"metadata":{"plan":"gold"}}',
      TIMEOUT_MS: '1234',
      EXECUTION_MODE: 'STDIO',
      DISPATCH_ATTEMPT: '2',
      TRACE_ID: 'trace-1',
      IDEMPOTENCY_KEY: 'key-1',
      GREETING: 'hello',
    });
    await eventually(() => expect(existsSync(cwd ?? '')).toBe(false));
  });

  it('read their payload from standard input, too, and a large one from a private file that goes with them', async () => {
    const { run } = open();
    const program = `const fs = require('fs'); const file = process.env.INVOCATION_PAYLOAD_FILE;
      const viaFile = fs.readFileSync(file, 'utf8'); const viaStdin = fs.readFileSync(0, 'utf8');
      process.stdout.write(JSON.stringify({ file, mode: fs.statSync(file).mode & 0o777, same: viaFile === viaStdin,
        length: JSON.parse(viaFile).input.length, variable: process.env.INVOCATION_PAYLOAD ?? null }))`;
    const result = await run(program, 'ä'.repeat(600_000));
    if (result.kind !== 'success') throw new Error(JSON.stringify(result));
    const { file, ...facts } = JSON.parse(result.output.json) as Record<string, unknown>;
    expect(facts).toEqual({ mode: 0o600, same: true, length: 600_000, variable: null });
    await eventually(() => expect(existsSync(String(file))).toBe(false));
  });

  it('need no shell, and none reads their command', async () => {
    const { runCommand, dispatcher } = open();
    expect(await runCommand(['echo', '$HOME; id', '"x"'])).toEqual({
      kind: 'success',
      output: { json: JSON.stringify('$HOME; id "x"') },
    });
    const split = definitionOf({
      mode: 'REMOTE',
      spec: { name: 'hello', runtimeCommand: `echo 'a  b' $(id)`, runtimeMode: 'HTTP' },
    });
    expect(await dispatcher.dispatch(attemptOf(split))).toMatchObject({ output: { json: '"a  b $(id)"' } });
  });

  it('that do not read their input succeed all the same', async () => {
    const { runCommand } = open();
    expect(await runCommand(['true'], 'x'.repeat(1_048_576))).toEqual({ kind: 'success', output: { json: 'null' } });
  });

  it.each([
    [
      'an exit code',
      `console.error('first'); console.error('\\u001b[31mno such plan'); process.exit(3)`,
      'EXECUTION_FAILED',
      'the job ended with exit code 3: no such plan',
      false,
    ],
    ['the code for later', 'process.exit(75)', 'EXECUTION_FAILED', 'the job ended with exit code 75', true],
    ['a signal', `process.kill(process.pid, 'SIGKILL')`, 'JOB_FAILED', 'the job was killed by SIGKILL', true],
    [
      'a flood of errors',
      `console.error('x'.repeat(5e6)); process.exit(1)`,
      'EXECUTION_FAILED',
      `the job ended with exit code 1: ${'x'.repeat(1_000)}`,
      false,
    ],
  ])('that end with %s have failed', async (_, program, code, message, transient) => {
    const { run } = open();
    expect(await run(program)).toEqual({ kind: 'failed', code, message, transient });
  });

  it('that print without end are ended', async () => {
    const { run, runner } = open({ maxOutputBytes: 100_000 });
    const program = `const more = () => process.stdout.write('x'.repeat(60000), more); more()`;
    expect(await run(program)).toMatchObject({
      code: 'EXECUTION_FAILED',
      message: 'the job wrote more than 100000 bytes to standard output and was killed',
    });
    expect(runner.pids).toEqual([]);
  });

  it('that cannot be started say why, and whether it makes sense to try again', async () => {
    const { runCommand, dispatcher } = open();
    expect(await runCommand(['/no/such/program'])).toEqual({
      kind: 'failed',
      code: 'JOB_FAILED',
      message: 'the job could not be started: the program /no/such/program does not exist on this machine',
      transient: false,
    });
    const none = definitionOf({ mode: 'REMOTE' });
    expect(dispatcher.problemOf(none)).toMatch(/"command" or "runtimeCommand"/);
    expect(await dispatcher.dispatch(attemptOf(none))).toMatchObject({ code: 'JOB_FAILED', transient: false });
    expect(await runCommand(['echo', 'x'.repeat(3_000_000)])).toMatchObject({ code: 'JOB_FAILED', transient: false });
  });

  it.each([
    ['timeout', false],
    ['cancelled', false],
    ['stopping', true],
    ['completed', false],
  ] as const)('that are abandoned (%s) end with all they started', async (reason, deaf) => {
    const { run, dispatcher } = open();
    await withScratchDirectory(async (directory) => {
      const file = path.join(directory, 'pids');
      const job = run(family(deaf, file));
      const pids = await eventually(() => readPids(file));
      expect(pids.filter(isAlive)).toHaveLength(2);
      job.attempt.abandon(reason);
      expect(await job).toMatchObject({ kind: 'timeout' });
      await eventually(() => expect(pids.filter(isAlive)).toEqual([]));
      await dispatcher.drain(AbortSignal.timeout(5_000));
    });
  });

  it('that have called back may end by themselves', async () => {
    const { run } = open({ graceMs: 20_000 });
    await withScratchDirectory(async (directory) => {
      const [file, done] = [path.join(directory, 'pids'), path.join(directory, 'done')];
      const program = `const fs = require('fs'); process.on('SIGTERM', () => process.exit(9));
        fs.writeFileSync(${JSON.stringify(file)}, JSON.stringify([process.pid]));
        setTimeout(() => fs.writeFileSync(${JSON.stringify(done)}, ''), 200)`;
      const job = run(program);
      await eventually(() => readPids(file));
      job.attempt.abandon('completed');
      await job;
      await eventually(() => expect(existsSync(done)).toBe(true));
    });
  });

  it('end although a process outside their group holds their pipes, and their group is empty', async () => {
    const { runCommand } = open();
    await withScratchDirectory(async (directory) => {
      const file = path.join(directory, 'pid');
      const result = await runCommand(['sh', '-c', `sleep 100 & echo "[$!]" > ${file}; echo done`]);
      expect(result).toEqual({ kind: 'success', output: { json: '"done"' } });
      const [pid = 0] = await readPids(file);
      await eventually(() => expect(isAlive(pid)).toBe(false));
    });
  });

  it('are as many as may be at a time; one more may come again later', async () => {
    const { run, observed } = open({ maxJobs: 2 });
    const waits = 'process.stdin.resume(); setInterval(() => {}, 1000)';
    const jobs = [run(waits), run(waits)];
    expect(await run('1')).toEqual({
      kind: 'failed',
      code: 'JOB_RUNNER_FULL',
      message: '2 jobs are running, the maximum (DROVER_MAX_JOBS)',
      transient: true,
      retryAfterMs: 1_000,
      wasNotTried: true,
      queuePauseMs: 1_000,
    });
    expect(observed.some(({ kind }) => kind === 'job.refused')).toBe(true);
    for (const { attempt } of jobs) attempt.abandon('cancelled');
    await eventually(async () => expect(await run('1')).toMatchObject({ kind: 'success' }));
  });

  it('run side by side', async () => {
    const { run } = open();
    const results = await Promise.all(
      Array.from({ length: 8 }, (_, n) => run('process.stdin.pipe(process.stdout)', n)),
    );
    expect(results.map((result) => (result.kind === 'success' ? result.output.json : result.kind))).toEqual(
      results.map((_, n) => `{"input":${n},"metadata":{}}`),
    );
  });

  it('abandoned before they began are never started', async () => {
    const { run, runner } = open();
    await withScratchDirectory(async (directory) => {
      const file = path.join(directory, 'ran');
      const job = run(`require('fs').writeFileSync(${JSON.stringify(file)}, '')`);
      job.attempt.abandon('cancelled');
      await job;
      await eventually(() => expect(runner.pids).toEqual([]));
      expect(existsSync(file)).toBe(false);
    });
  });

  it('are gone after stop, with their directories', async () => {
    const before = new Set(await jobDirectories());
    const { run, dispatcher } = open();
    await withScratchDirectory(async (directory) => {
      const files = ['a', 'b'].map((name) => path.join(directory, name));
      const jobs = files.map((file) => run(family(true, file)));
      const pids = await eventually(async () => (await Promise.all(files.map(readPids))).flat());
      expect(pids).toHaveLength(4);
      await dispatcher.stop();
      expect(pids.filter(isAlive)).toEqual([]);
      for (const result of await Promise.all(jobs))
        expect(result).toMatchObject({ code: 'JOB_FAILED', transient: true });
      expect((await jobDirectories()).filter((name) => !before.has(name))).toEqual([]);
      expect(await run('1')).toMatchObject({ code: 'JOB_FAILED', transient: true });
    });
  });

  it('die with us, even when we are killed', async () => {
    await withScratchDirectory(async (directory) => {
      const file = path.join(directory, 'pids');
      const script = path.join(directory, 'host.mjs');
      const here = import.meta.dirname;
      const host = `
        import { systemClock } from '@drover/service-kit';
        import { ProcessJobRunner } from './process-job-runner.js';
        const runner = new ProcessJobRunner({ environment: process.env, graceMs: 200, clock: systemClock, observe: () => {} });
        runner.run({ definition: { name: 'hello', env: {} }, executionId: 'e', attempt: 1, variables: {}, payload: '{}',
          labels: {}, annotations: {}, timeoutMs: 1, command: [process.execPath, '-e', ${JSON.stringify(family(true, file))}] });`;
      await build({
        stdin: { contents: host, resolveDir: here, loader: 'ts' },
        bundle: true,
        platform: 'node',
        format: 'esm',
        outfile: script,
        logLevel: 'silent',
        banner: { js: `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);` },
      });
      const child = new Child(process.execPath, [script], { env: { ...process.env, TMPDIR: directory } });
      try {
        const pids = await eventually(() => readPids(file));
        expect(pids.filter(isAlive)).toHaveLength(2);
        child.kill('SIGKILL');
        await child.exited;
        await eventually(() => expect(pids.filter(isAlive)).toEqual([]));
      } finally {
        await child.end();
      }
    });
  });
});

describe.runIf(process.getuid?.() === 0)('jobs of a platform that runs as root', () => {
  const user = { uid: 65_530, gid: 65_530 };

  it('run as another user, without groups, in a directory of their own, and reach no private file', async () => {
    await withScratchDirectory(async (directory) => {
      const secret = path.join(directory, 'credentials.json');
      await writeFile(secret, 'secret', { mode: 0o600 });
      const program = `const fs = require('fs');
        const read = (file) => { try { return fs.readFileSync(file, 'utf8').length } catch (error) { return error.code } };
        fs.writeFileSync('own', 'x');
        process.stdout.write(JSON.stringify({ uid: process.getuid(), gid: process.getgid(), groups: process.getgroups(),
          mode: fs.statSync('.').mode & 0o777, payload: read(process.env.INVOCATION_PAYLOAD_FILE),
          secret: read(${JSON.stringify(secret)}), platform: read('/proc/' + process.ppid + '/environ') }))`;
      const { run } = open({ user });
      const result = await run(program, 'x'.repeat(200_000));
      if (result.kind !== 'success') throw new Error(JSON.stringify(result));
      expect(JSON.parse(result.output.json)).toEqual({
        ...user,
        groups: [user.gid],
        mode: 0o700,
        payload: 200_026,
        secret: 'EACCES',
        platform: 'EACCES',
      });
    });
  });

  it('are ended like all others', async () => {
    const { run, runner } = open({ user });
    const running = run('setInterval(() => {}, 1000)');
    const pid = Number(await eventually(() => runner.pids[0] ?? false));
    running.attempt.abandon('timeout');
    await running;
    await eventually(() => expect(isAlive(pid)).toBe(false));
  });

  it('are announced with their user, and with a warning where it is the user of the platform', async () => {
    for (const [runsAs, isPlatformUser, level] of [
      [user, false, 'info'],
      [undefined, true, 'warn'],
    ] as const) {
      const { dispatcher, observed } = open({ ...(runsAs && { user: runsAs }) });
      await dispatcher.start(new AbortController().signal);
      const [enabled] = observed;
      expect(enabled).toEqual({ kind: 'job.enabled', uid: runsAs?.uid ?? 0, isPlatformUser });
      const reader = jobReaders['job.enabled'];
      if (enabled?.kind !== 'job.enabled' || typeof reader.level === 'string') return expect.unreachable();
      expect(reader.level(enabled)).toBe(level);
      expect(reader.say(enabled)).toContain(`uid ${runsAs?.uid ?? 0}`);
    }
  });
});

describe('directories of jobs', () => {
  it('that a killed process has left behind are removed, and no others', async () => {
    await withScratchDirectory(async (root) => {
      const gone = new Child('true', []);
      await gone.exited;
      const make = async (pid: number | string, ageMs: number): Promise<string> => {
        const name = `drover-job-${pid}-${ageMs}`;
        await mkdir(path.join(root, name));
        const at = new Date(Date.now() - ageMs);
        await utimes(path.join(root, name), at, at);
        return name;
      };
      await make(gone.pid, 1_000_000);
      const kept = [
        await make(gone.pid, 800_000),
        await make(process.pid, 1_000_000),
        await make('other', 1_000_000),
        path.basename(await makeJobDirectory(undefined, root)),
      ];
      await removeStaleJobDirectories(Date.now(), root);
      expect(new Set(await readdir(root))).toEqual(new Set(kept));
    });
  });
});

describe('without a job runner', () => {
  it('functions of the mode REMOTE are told what to set', async () => {
    const dispatcher = new JobDispatcher({
      runner: undefined,
      maxJobs: 1,
      clock: systemClock,
      observe: () => undefined,
    });
    const definition = definitionOf({ mode: 'REMOTE', spec: { name: 'hello', command: ['true'] } });
    expect(dispatcher.problemOf(definition)).toMatch(/DROVER_JOB_RUNNER=process/);
    expect(await dispatcher.dispatch(attemptOf(definition))).toEqual({
      kind: 'failed',
      code: 'JOB_RUNNER_MISSING',
      message: expect.stringContaining('DROVER_JOB_RUNNER=process') as unknown,
      transient: false,
    });
  });
});

async function readPids(file: string): Promise<number[]> {
  return JSON.parse(await readFile(file, 'utf8')) as number[];
}

dispatcherContract('process', async () => {
  const { dispatcher } = open();
  const directory = await mkdtemp(path.join(tmpdir(), 'drover-test-'));
  const [begun, flag] = [path.join(directory, 'begun-'), path.join(directory, 'flag')];
  const programs: Readonly<Record<FunctionBehaviour, string>> = {
    succeeds: `console.log('{"ok":true}')`,
    fails: `console.error('no such plan'); process.exit(1)`,
    waits: `const fs = require('fs'); const mine = ${JSON.stringify(begun)} + process.pid;
      fs.writeFileSync(mine, '');
      setInterval(() => { if (fs.existsSync(${JSON.stringify(flag)})) { console.log('{"ok":true}'); process.exit(0) } }, 5)`,
  };
  const waiting = (): number =>
    readdirSync(directory).filter((name) => name.startsWith('begun-') && isAlive(Number(name.slice(6)))).length;
  return {
    dispatcher,
    attempt: (behaviour) =>
      attemptOf(
        definitionOf({
          mode: 'REMOTE',
          spec: { name: 'hello', command: [process.execPath, '-e', programs[behaviour]] },
        }),
      ),
    waiting,
    finish: () => writeFile(flag, ''),
    stop: () => dispatcher.stop(),
    cleanUp: () => rm(directory, { recursive: true }),
  };
});
