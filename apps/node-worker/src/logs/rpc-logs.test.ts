import { RpcLogLevel } from '@drover/function-rpc';
import { describe, expect, it } from 'vitest';
import { FunctionApp } from '../loading/function-app.js';
import { LogHookContext } from '../loading/hook-contexts.js';
import { RecordingStream } from '../stream/recording-stream.test.fixture.js';
import { RpcLogs } from './rpc-logs.js';
import { createSystemConsole, createSystemLog } from './system-log.js';

const line = (message: string) => ({ level: 'information', category: 'user', message }) as const;

describe('RpcLogs', () => {
  it('drops lines for a host that does not read, and reports how many once it does', () => {
    const stream = new RecordingStream();
    const logs = new RpcLogs(() => new FunctionApp(() => undefined));
    stream.queuedBytes = 32 * 1_024 * 1_024 + 1;
    logs.write(stream, line('lost'));
    logs.write(stream, line('lost too'));
    expect(logs.dropped).toBe(2);
    stream.queuedBytes = 0;
    logs.write(stream, line('kept'));
    expect(stream.logs).toEqual(['2 log lines were dropped: the host did not read them in time.', 'kept']);
    expect(logs.dropped).toBe(0);
  });

  it('cuts a line that is far too long', () => {
    const stream = new RecordingStream();
    new RpcLogs(() => new FunctionApp(() => undefined)).write(stream, line('x'.repeat(1_024 * 1_024 + 5)));
    expect(stream.logs[0]).toMatch(/x… \(5 more characters\)$/);
  });

  it('lets hooks change lines of the app, and only read those of the system', () => {
    const app = new FunctionApp(() => undefined);
    const stream = new RecordingStream();
    const logs = new RpcLogs(() => app);
    const seen: string[] = [];
    app.hooks.register('log', (context) => {
      if (!(context instanceof LogHookContext)) return;
      seen.push(context.category);
      context.message = 'changed';
      context.level = 'critical';
    });
    logs.write(stream, line('of the app'));
    logs.write(stream, { level: 'debug', category: 'system', message: 'of the system' });
    expect(seen).toEqual(['user', 'system']);
    expect(stream.sent).toMatchObject([
      { value: { message: 'changed', level: RpcLogLevel.Critical } },
      { value: { message: 'of the system', level: RpcLogLevel.Debug } },
    ]);
  });

  it('sends a line whose hook throws', () => {
    const app = new FunctionApp(() => undefined);
    const stream = new RecordingStream();
    app.hooks.register('log', () => {
      throw new Error('a bad hook');
    });
    new RpcLogs(() => app).write(stream, line('kept'));
    expect(stream.logs).toEqual(['kept']);
  });
});

describe('the log of the system', () => {
  it('goes to the console while there is no stream', () => {
    const written: [number, string][] = [];
    const console = createSystemConsole((descriptor, text) => written.push([descriptor, text]));
    let stream: RecordingStream | undefined;
    const logs = new RpcLogs(() => new FunctionApp(() => undefined));
    const log = createSystemLog({ logs, console, stream: () => stream });
    log('information', 'first');
    log('warning', 'second');
    log('error', 'third\nover two lines');
    log('debug', 'not worth a line');
    stream = new RecordingStream();
    log('error', 'fourth');
    expect(written).toEqual([
      [1, 'LanguageWorkerConsoleLogfirst\n'],
      [2, 'LanguageWorkerConsoleLog[warn] second\n'],
      [2, 'LanguageWorkerConsoleLog[error] third over two lines\n'],
    ]);
    expect(stream.logs).toEqual(['fourth']);
  });
});
