import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Child, eventually, isAlive, withScratchDirectory } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';

const kitUrl = new URL('../../dist/index.js', import.meta.url).href;

/** The parts of a process, as source text: each stands where the sample says its name. */
interface Sample {
  readonly compose?: string;
  readonly start?: string;
  readonly drain?: string;
  readonly stop?: string;
}

function programOf({ compose = '', start = '', drain = '', stop = '' }: Sample): string {
  return `
    import { integer, Leash, parseConfiguration, runProcess } from ${JSON.stringify(kitUrl)};
    const variables = {
      size: integer('T_SIZE', { default: 1, min: 1, max: 9, about: 'How big.' }),
      depth: integer('T_DEPTH', { default: 1, min: 1, max: 9, about: 'How deep.' }),
    };
    const aborted = async (signal) => signal.aborted || new Promise((resolve) => signal.addEventListener('abort', resolve));
    const never = new Promise(() => undefined);
    await runProcess({
      name: 'sample',
      parse: (environment) => parseConfiguration('sample', variables, environment),
      compose: async (config, { sinks: { log, spans }, health }) => {
        const say = (did) => log.info({ did }, did);
        ${compose}
        return {
          life: {
            name: 'part',
            async start(signal) { say('start'); ${start} },
            async drain(deadline) { say('drain'); ${drain}; say('drained'); },
            async stop() { say('stop'); ${stop} },
          },
          announce: () => ({ url: 'http://127.0.0.1:1/' + config.size }),
        };
      },
    });
  `;
}

/** A running sample, with what it logged and reported. */
class Running {
  readonly child: Child;
  readonly reports: unknown[] = [];

  constructor(sample: Sample, environment: Record<string, string>, channel: 'ipc' | 'ignore') {
    this.child = new Child(process.execPath, ['--input-type=module', '-e', programOf(sample)], {
      stdio: ['ignore', 'pipe', 'pipe', channel],
      env: { PATH: process.env['PATH'], ...environment },
    });
    this.child.process.on('message', (report) => this.reports.push(report));
  }

  /** Every line of standard output, each of which must be JSON. */
  get log(): Record<string, unknown>[] {
    return this.child.stdout.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** What its parts did, and the states it went through, in order. */
  get story(): unknown[] {
    return this.log.flatMap(({ did, state }) => did ?? state ?? []);
  }

  did(word: string): Promise<string> {
    return this.child.line(new RegExp(`"did":"${word}"`));
  }

  async ready(): Promise<void> {
    await this.child.line(/"state":"ready"/);
  }

  async exit(): Promise<number | string | null> {
    const { code, signal } = await this.child.exited;
    return signal ?? code;
  }
}

const running: Running[] = [];

function run(
  sample: Sample = {},
  environment: Record<string, string> = {},
  channel: 'ipc' | 'ignore' = 'ipc',
): Running {
  const one = new Running(sample, environment, channel);
  running.push(one);
  return one;
}

afterEach(async () => {
  for (const { child } of running.splice(0)) await child.end();
});

const wholeLife = ['start', 'ready', 'draining', 'drain', 'drained', 'stop', 'stopped'];

describe('runProcess', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('reports ready, and on %s drains, stops and exits with 0', async (signal) => {
    const sample = run({}, { T_SIZE: '7' });
    await eventually(() =>
      expect(sample.reports).toEqual([{ type: 'ready', announcement: { url: 'http://127.0.0.1:1/7' } }]),
    );
    sample.child.kill(signal);
    expect(await sample.exit()).toBe(0);
    expect(sample.story).toEqual(wholeLife);
    expect(sample.log).toContainEqual(
      expect.objectContaining({ kind: 'process.stopping', msg: `sample is stopping: received ${signal}` }),
    );
    expect(sample.child.stderr).toEqual([]);
  });

  it('runs without a parent and with an empty event loop', async () => {
    const sample = run({}, {}, 'ignore');
    await sample.ready();
    sample.child.kill('SIGTERM');
    expect(await sample.exit()).toBe(0);
    expect(sample.story).toEqual(wholeLife);
  });

  it('skips to stop on a second signal, also past a part that ignores it', async () => {
    const obedient = run({ drain: 'await aborted(deadline)' }, {}, 'ignore'); // a supervisor would decide itself
    const deaf = run({ drain: 'await never' }, {}, 'ignore');
    for (const sample of [obedient, deaf]) {
      await sample.ready();
      sample.child.kill('SIGTERM');
      await sample.did('drain');
      sample.child.kill('SIGTERM');
      expect(await sample.exit()).toBe(0);
      expect(sample.story.slice(-2)).toEqual(['stop', 'stopped']);
      expect(sample.log).toContainEqual(
        expect.objectContaining({ level: 'warn', msg: 'drain ended before all work was finished: received SIGTERM' }),
      );
    }
    expect(obedient.story).toContain('drained');
    expect(deaf.story).not.toContain('drained');
  });

  it('turns red first, and drains only after the delay; a second signal cuts that short as well', async () => {
    const probe = `const stopping = setInterval(() => {
      if (health.state === 'draining') { clearInterval(stopping); say('red, ready: ' + health.isReady()); }
    }, 5)`;
    const sample = run({ compose: probe }, { DROVER_DRAIN_DELAY_MS: '200' });
    await sample.ready();
    sample.child.kill('SIGTERM');
    expect(await sample.exit()).toBe(0);
    expect(sample.story).toEqual(['start', 'ready', 'draining', 'red, ready: false', ...wholeLife.slice(3)]);

    const hurried = run({}, { DROVER_DRAIN_DELAY_MS: '86400000' }, 'ignore');
    await hurried.ready();
    hurried.child.kill('SIGTERM');
    await hurried.child.line(/"state":"draining"/);
    hurried.child.kill('SIGINT');
    expect(await hurried.exit()).toBe(0);
    expect(hurried.story).toEqual(['start', 'ready', 'draining', 'stop', 'stopped']);
  });

  it('ends the drain at its deadline, also if a part ignores it or fails', async () => {
    const drains = ['await aborted(deadline)', 'await never', "throw new Error('stuck')"];
    const samples = drains.map((drain) => run({ drain }, { DROVER_DRAIN_TIMEOUT_MS: '100' }));
    for (const [index, sample] of samples.entries()) {
      await sample.ready();
      sample.child.kill('SIGTERM');
      expect(await sample.exit()).toBe(0);
      expect(sample.story.slice(-2)).toEqual(['stop', 'stopped']);
      const why = index === 2 ? 'stuck' : 'the deadline passed';
      expect(sample.log).toContainEqual(
        expect.objectContaining({ msg: `drain ended before all work was finished: ${why}` }),
      );
    }
  });

  it('reports a failed start, stops what there is and exits with 1', async () => {
    const sample = run({ start: "throw new Error('port 80 is taken', { cause: new Error('EADDRINUSE') })" });
    expect(await sample.exit()).toBe(1);
    const failure = { type: 'failed', code: 'PROCESS_FAILED', message: 'port 80 is taken', retryable: false };
    expect(sample.reports).toEqual([failure]);
    expect(sample.story).toEqual(['start', 'stop', 'stopped']);
    expect(sample.log.at(-1)).toMatchObject({
      level: 'error',
      msg: 'sample failed: port 80 is taken',
      error: { message: 'port 80 is taken', cause: { message: 'EADDRINUSE' } },
    });
  });

  it('reports a failed composition and exits with 1', async () => {
    const sample = run({ compose: "throw new Error('no such adapter')" });
    expect(await sample.exit()).toBe(1);
    expect(sample.reports).toMatchObject([{ type: 'failed', message: 'no such adapter' }]);
    expect(sample.story).toEqual(['stopped']);
  });

  it('reports a failed stop after a good life', async () => {
    const sample = run({ stop: "throw new Error('socket stayed open')" });
    await sample.ready();
    sample.child.kill('SIGTERM');
    expect(await sample.exit()).toBe(1);
    expect(sample.reports.at(-1)).toMatchObject({ type: 'failed', message: 'socket stayed open' });
    expect(sample.story).toEqual(wholeLife);
  });

  it('reports a failed start together with the stop that failed after it', async () => {
    const sample = run({ start: "throw new Error('no database')", stop: "throw new Error('socket stayed open')" });
    expect(await sample.exit()).toBe(1);
    const message = 'sample did not stop cleanly: no database; socket stayed open';
    expect(sample.reports).toMatchObject([{ type: 'failed', message }]);
    expect(sample.log.at(-1)).toMatchObject({ error: { errors: [{ message: 'no database' }, {}] } });
  });

  it('exits cleanly when it is stopped during its start', async () => {
    const sample = run({ start: 'await aborted(signal); signal.throwIfAborted()' });
    await sample.did('start');
    sample.child.kill('SIGTERM');
    expect(await sample.exit()).toBe(0);
    expect(sample.story).toEqual(['start', 'stop', 'stopped']);
    expect(sample.reports).toEqual([]);
  });

  it('ends cleanly on a second signal while a start or composition ignores the first', async () => {
    const starting = run({ start: 'await never' }, {}, 'ignore');
    const composing = run({ compose: "say('start'); await never" }, {}, 'ignore');
    for (const sample of [starting, composing]) {
      await sample.did('start');
      sample.child.kill('SIGTERM');
      sample.child.kill('SIGINT');
      expect(await sample.exit()).toBe(0);
    }
    expect(starting.story).toEqual(['start', 'stop', 'stopped']);
    expect(composing.story).toEqual(['start', 'stopped']);
  });
});

describe('a process with a bad configuration', () => {
  const own = [
    'T_SIZE is "0"; it must be a whole number from 1 to 9',
    'T_DEPTH is "x"; it must be a whole number from 1 to 9',
  ];
  const kit = 'DROVER_LOG_LEVEL is "loud"; it must be debug or info or warn or error or silent';
  const bad = { T_SIZE: '0', T_DEPTH: 'x' };

  it('exits with 78, with every problem in its log and its report', async () => {
    const sample = run({}, bad);
    expect(await sample.exit()).toBe(78);
    for (const problem of own) {
      expect(sample.log).toMatchObject([{ level: 'error', msg: expect.stringContaining(problem) as unknown }]);
      expect(sample.reports).toMatchObject([
        { type: 'failed', code: 'CONFIGURATION_INVALID', message: expect.stringContaining(problem) as unknown },
      ]);
    }
  });

  it('has the problems of the kit and of the process in one list, on standard error when it has no log', async () => {
    const sample = run({}, { ...bad, DROVER_LOG_LEVEL: 'loud' });
    expect(await sample.exit()).toBe(78);
    expect(sample.child.stderr).toEqual([
      'The configuration of sample has 3 problems. Correct them and start again (docs/configuration.md):',
      ...[kit, ...own].map((problem) => `  - ${problem}`),
    ]);
    expect(sample.child.stdout).toEqual([]);
  });
});

describe('a process that crashes', () => {
  it.each([
    ['an uncaught exception', "setImmediate(() => { throw new Error('bang\\nloud') })", 'uncaughtException'],
    ['an unhandled rejection', "void Promise.reject(new Error('bang\\nloud'))", 'unhandledRejection'],
  ])('logs %s as one line of JSON and exits with 1', async (_, start, origin) => {
    const sample = run({ start });
    expect(await sample.exit()).toBe(1);
    expect(sample.log.at(-1)).toMatchObject({
      level: 'error',
      kind: 'process.crashed',
      msg: 'the process crashed with an uncaught error: bang\nloud',
      origin,
      error: { message: 'bang\nloud', stack: expect.stringContaining('bang') as unknown },
    });
    expect(sample.child.stderr).toEqual([]);
    expect(sample.story).not.toContain('stop');
  });

  it('has written every line in full by then, more than a pipe holds', async () => {
    const sample = run({
      start: `for (let line = 0; line < 200; line++) log.info({ line, filler: 'é\\n'.repeat(5000) }, 'filler');
        setImmediate(() => { throw new Error('bang') })`,
    });
    expect(await sample.exit()).toBe(1);
    const lines = sample.log.filter(({ msg }) => msg === 'filler');
    expect(lines.map(({ line }) => line)).toEqual(Array.from({ length: 200 }, (_, line) => line));
    expect(sample.log.at(-1)).toMatchObject({ kind: 'process.crashed' });
  });
});

describe('a process whose parent dies', () => {
  it('drains and exits with 0', async () => {
    const sample = run();
    await sample.ready();
    sample.child.process.disconnect();
    expect(await sample.exit()).toBe(0);
    expect(sample.story).toEqual(wholeLife);
    expect(sample.log).toContainEqual(
      expect.objectContaining({ msg: 'sample is stopping: its parent process has exited' }),
    );
  });

  it('notices also when the parent went before it was ready', async () => {
    const sample = run({ start: 'await aborted(signal)' });
    sample.child.process.disconnect();
    expect(await sample.exit()).toBe(0);
  });

  it('gets its whole drain although its leash sends SIGTERM and its output has no reader', async () => {
    await withScratchDirectory(async (directory) => {
      const file = path.join(directory, 'drained');
      const program = programOf({
        // Long enough that a second request, if the leash's signal counted as one, would come while it lasts.
        compose: "const { appendFileSync } = await import('node:fs')",
        drain: `await new Promise((resolve) => setTimeout(resolve, 400));
          appendFileSync(${JSON.stringify(file)}, deadline.aborted ? 'cut short' : 'in full')`,
      });
      const owner = new Child(process.execPath, [
        '--input-type=module',
        '-e',
        `import { spawn } from 'node:child_process';
         import { Leash } from ${JSON.stringify(kitUrl)};
         const leash = new Leash();
         const options = { detached: true, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] };
         const child = spawn(process.execPath, ['--input-type=module', '-e', ${JSON.stringify(program)}], options);
         leash.hold(child.pid, { signal: 'SIGTERM', graceMs: 30_000 });
         child.on('message', () => process.stdout.write('ready ' + child.pid + '\\n'));`,
      ]);
      try {
        const pid = Number((await owner.line(/^ready/)).slice(6));
        owner.kill('SIGKILL');
        await eventually(() => !isAlive(pid));
        expect(await readFile(file, 'utf8')).toBe('in full');
      } finally {
        await owner.end();
      }
    });
  });
});

describe('a process that traces', () => {
  it('exits with 0 although its collector is not there', async () => {
    const span = `{ name: 'x', trace: { traceId: '1'.repeat(32), spanId: '2'.repeat(16) }, endedAt: Date.now(),
      durationMs: 1, attributes: {}, failed: false }`;
    const sample = run({ start: `spans.record(${span})` }, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' });
    await sample.ready();
    sample.child.kill('SIGTERM');
    expect(await sample.exit()).toBe(0);
  });
});
