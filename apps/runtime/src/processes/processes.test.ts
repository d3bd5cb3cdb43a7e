import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { StartBudget } from './start-budget.js';
import { hostArguments, parseWorkerCommand, withFilesFrom, functionWorkerEnvironment } from './worker-command.js';
import { LineReader, readPrintedLine } from './worker-output.js';

describe('the worker command', () => {
  it.each([
    ['node worker.js', 'node', ['worker.js']],
    ['"/opt/my node/bin/node" --flag \'a b\' c\\ d ""', '/opt/my node/bin/node', ['--flag', 'a b', 'c d', '']],
    ['  python   -m worker ', 'python', ['-m', 'worker']],
  ])('%s is split as a shell would', (text, executable, args) => {
    expect(parseWorkerCommand(text)).toEqual({ executable, args });
  });

  it.each(['', '   ', 'node "worker.js'])('%j is refused with a sentence', (text) => {
    expect(() => parseWorkerCommand(text)).toThrow(/worker command/);
  });

  it('names files from where it was given, and leaves everything else as it is', () => {
    const files = new Set(['/here/bin/node', '/here/node', '/here/dist/worker.js']);
    const from = (text: string) => withFilesFrom('/here', parseWorkerCommand(text), (file) => files.has(file));
    expect(from('node dist/worker.js --flag other.js ""')).toEqual({
      executable: 'node',
      args: ['/here/dist/worker.js', '--flag', 'other.js', ''],
    });
    expect(from('./bin/node /opt/worker.js')).toEqual({ executable: '/here/bin/node', args: ['/opt/worker.js'] });
  });

  it('tells the worker everything in both spellings', () => {
    const args = hostArguments({ host: '127.0.0.1', port: 9, workerId: 'w', requestId: 'r', maxMessageBytes: 7 });
    expect(args.join(' ')).toBe(
      '--host 127.0.0.1 --port 9 --workerId w --requestId r --grpcMaxMessageLength 7 --functions-uri http://127.0.0.1:9/ --functions-worker-id w --functions-request-id r --functions-grpc-max-message-length 7',
    );
  });
});

describe('what a worker prints', () => {
  it.each([
    [
      'LanguageWorkerConsoleLogWorker connected',
      'stdout',
      { level: 'debug', text: 'Worker connected', isSystem: true },
    ],
    ['LanguageWorkerConsoleLog[warn] slow', 'stdout', { level: 'warn', text: 'slow', isSystem: true }],
    ['LanguageWorkerConsoleLog[error] broken', 'stdout', { level: 'error', text: 'broken', isSystem: true }],
    ['azfuncjsonlog:{}', 'stdout', undefined],
    ['hello error', 'stdout', { level: 'info', text: 'hello error', isSystem: false }],
    ['DeprecationWarning: old', 'stderr', { level: 'warn', text: 'DeprecationWarning: old', isSystem: false }],
    ['TypeError: no', 'stderr', { level: 'error', text: 'TypeError: no', isSystem: false }],
    ['Debugger attached', 'stderr', { level: 'info', text: 'Debugger attached', isSystem: false }],
  ] as const)('%s', (line, stream, expected) => {
    expect(readPrintedLine(line, stream)).toEqual(expected);
  });

  it('is cut into lines, wherever the pieces end, and a line without an end does not grow for ever', () => {
    const lines: string[] = [];
    const reader = new LineReader((line) => lines.push(line));
    for (const piece of ['one\ntw', 'o\r\n', 'x'.repeat(70_000), '\nrest']) reader.push(piece);
    reader.end();
    expect(lines.map((line) => line.slice(0, 4))).toEqual(['one', 'two', 'xxxx', '', 'rest']);
  });
});

describe('the start budget', () => {
  it('replaces the first loss at once, and later ones after a delay that stops growing at a few seconds', () => {
    const budget = new StartBudget();
    const delays = Array.from({ length: 9 }, (_, second) => {
      budget.recordError(second * 1_000);
      return budget.delayMs(second * 1_000);
    });
    expect(delays).toEqual([0, 100, 200, 400, 800, 1_600, 3_000, 3_000, 3_000]);
  });

  it('forgets what is a minute ago', () => {
    const budget = new StartBudget();
    for (const second of [0, 1, 2]) budget.recordError(second * 1_000);
    expect(budget.errors(60_500)).toBe(2);
    budget.recordError(62_000);
    expect(budget.delayMs(62_000)).toBe(0);
  });
});

describe('the environment of a worker', () => {
  const version = { tenantId: 't', applicationId: 'app', codeVersion: 'v', directory: '/app', environment: { A: '1' } };

  it('names the directory of the app and that of the worker, as the official host does', async () => {
    await withScratchDirectory(async (scratch) => {
      const program = path.join(scratch, '3.11/LINUX/X64/worker.py');
      await mkdir(path.dirname(program), { recursive: true });
      await writeFile(program, '');
      const command = { executable: 'python', args: ['-X', 'dev', program] };
      expect(functionWorkerEnvironment(version, command)).toMatchObject({
        FUNCTIONS_WORKER_DIRECTORY: path.dirname(program),
      });
      await writeFile(path.join(scratch, 'worker.config.json'), '{}');
      expect(functionWorkerEnvironment(version, command)).toEqual({
        A: '1',
        AzureWebJobsScriptRoot: '/app',
        FUNCTIONS_APPLICATION_DIRECTORY: '/app',
        FUNCTIONS_WORKER_DIRECTORY: scratch,
      });
      const set = { ...version, environment: { FUNCTIONS_WORKER_DIRECTORY: '/set' } };
      expect(functionWorkerEnvironment(set, command)).toMatchObject({ FUNCTIONS_WORKER_DIRECTORY: '/set' });
    });
  });

  it('names no directory of a worker that is found by its module', () => {
    const command = { executable: 'python', args: ['-m', 'worker'] };
    expect(functionWorkerEnvironment(version, command)).not.toHaveProperty('FUNCTIONS_WORKER_DIRECTORY');
  });
});
