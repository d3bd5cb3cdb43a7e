import { channel } from 'node:diagnostics_channel';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Child, eventually } from '@drover/testkit';
import { describe, expect, it, vi } from 'vitest';
import {
  RequestTimeoutError,
  SerializationError,
  UnknownMessageError,
  UnsupportedOptionError,
  WorkerClosedError,
  WorkerCrashedError,
  WorkerUnavailableError,
} from '../types/errors.js';
import type { MiddlewareMessage } from '../types/messages.js';
import type { WorkerClient } from '../types/worker.js';
import { createWorker } from './create-worker.js';
import { workerThreads } from './drivers/worker-threads/host.js';
import { drivers, failureOf, fixture, workerBench, type Loose } from './test-bench.test.fixture.js';

const { open, openStreams } = workerBench();

const reversing = {
  name: 'reversing',
  serialize: (value: unknown) => new Uint8Array(Buffer.from(JSON.stringify(value))).toReversed(),
  deserialize: (bytes: Uint8Array) => JSON.parse(Buffer.from(new Uint8Array(bytes).toReversed()).toString()) as unknown,
};

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

describe.each(drivers)('$name: a client', ({ name, driver }) => {
  it('gets the error of a handler with name, code, properties, causes and inner errors', async () => {
    const worker = await open({ driver });
    const error = await failureOf(worker.send('throwError'));
    expect(error).toBeInstanceOf(AggregateError);
    expect(error).toMatchObject({
      message: 'all of it',
      code: 'E_ALL',
      details: { list: [1, 2], when: new Date(0) },
      cause: { name: 'TypeError', message: 'the middle', cause: { name: 'RangeError', code: 'E_ROOT' } },
    });
    expect(error.cause).toBeInstanceOf(TypeError);
    expect((error as unknown as AggregateError).errors).toMatchObject([{ message: 'one' }, { message: 'the middle' }]);
    expect(error.stack).toContain('worker.mjs');
    expect(await failureOf(worker.send('throwNamed'))).toMatchObject({ name: 'SpecialError' });
  });

  it('reaches the handler with its abort signal and its time limit', async () => {
    const worker = await open({ driver, timeout: { byType: { hang: 100 } } });
    const controller = new AbortController();
    const given = failureOf(worker.send('hang', undefined, { signal: controller.signal, timeout: 0 }));
    await worker.send('echo');
    controller.abort(new Error('enough'));
    expect((await given).message).toBe('enough');
    await eventually(async () => expect(await worker.send('ended')).toBe(1));
    expect(await failureOf(worker.send('hang'))).toBeInstanceOf(RequestTimeoutError);
    await eventually(async () => expect(await worker.send('ended')).toBe(2));
  });

  it('receives progress in order, before the answer', async () => {
    const worker = await open({ driver });
    const seen: unknown[] = [];
    expect(await worker.send('progress', 3, { onProgress: (step) => seen.push(step) })).toBe(3);
    expect(seen).toEqual([1, 2, 3]);
  });

  it('gets every item of a stream in order', async () => {
    const worker = await openStreams({ driver });
    expect(await all(worker.stream('count', 1_000))).toEqual(Array.from({ length: 1_000 }, (_, index) => index));
    expect(await all(worker.stream('count', 0))).toEqual([]);
    expect(await all(worker.stream('count', 5, { highWaterMark: 1 }))).toHaveLength(5);
  });

  it('is never more than highWaterMark items behind the worker', async () => {
    const worker = await openStreams({ driver });
    const asked = worker as unknown as WorkerClient<Loose>;
    const items = worker.stream('count', 100, { highWaterMark: 4 });
    let taken = 0;
    for await (const _ of items) {
      taken += 1;
      if (taken > 20) break;
      // two questions: what the first grant set free is made by the time of the second answer
      await asked.send('made');
      expect(await asked.send('made')).toBeLessThanOrEqual(taken + 4);
    }
  });

  it('ends the generator by leaving the stream', async () => {
    const worker = await openStreams({ driver });
    const asked = worker as unknown as WorkerClient<Loose>;
    for await (const item of worker.stream('count', 1_000_000)) if (item === 10) break;
    await eventually(async () => expect(await asked.send('ended')).toBe(1));
    expect(worker.pending).toBe(0);
  });

  it('gets the items before a failure, then the failure', async () => {
    const worker = await openStreams({ driver });
    for (const [type, error] of [
      ['countThenThrow', { name: 'RangeError', message: 'enough' }],
      ['countThenDie', { name: 'WorkerCrashedError' }],
    ] as const) {
      const seen: unknown[] = [];
      const failure = await failureOf(
        (async () => {
          for await (const item of worker.stream(type, 3)) seen.push(item);
        })(),
      );
      expect(failure).toMatchObject(error);
      expect(seen).toEqual([0, 1, 2]);
    }
    expect((await failureOf(all(worker.stream('notAStream')))).message).toContain('must return an iterable');
  });

  it('answers readers of one stream that ask at the same time', async () => {
    const worker = await openStreams({ driver });
    const items = worker.stream('count', 2);
    const results = await Promise.all([items.next(), items.next(), items.next()]);
    expect(results.map(({ value, done }) => [value, done])).toEqual([
      [0, false],
      [1, false],
      [undefined, true],
    ]);
  });

  it('answers what the worker asks, in both directions at once', async () => {
    const worker = await createWorker<Loose, { double: { payload: number; result: number }; fail: { result: void } }>({
      script: fixture('worker.mjs'),
      driver,
      logLevel: 'silent',
      hostHandlers: {
        double: async (value) => value * 2,
        fail: () => {
          throw Object.assign(new RangeError('the host cannot'), { code: 'E_HOST' });
        },
      },
    });
    await using _ = worker;
    const answers = Array.from({ length: 20 }, (__, index) => worker.send('askHost', ['double', index]));
    expect(await Promise.all(answers)).toEqual(Array.from({ length: 20 }, (__, index) => index * 2));
    expect(await failureOf(worker.send('askHost', ['fail']))).toMatchObject({ name: 'RangeError', code: 'E_HOST' });
    for (const type of ['unknown', 'toString']) {
      expect(await failureOf(worker.send('askHost', [type]))).toBeInstanceOf(UnknownMessageError);
    }
  });

  it('lets a worker die while the host still works on its question', async () => {
    let answer: () => void = () => undefined;
    const worker = await open({
      driver,
      hostHandlers: { wait: () => new Promise<void>((resolve) => (answer = resolve)) },
    });
    const failure = failureOf(worker.send('askHost', ['wait']));
    const death = failureOf(worker.send('dieLater', 20));
    expect(await failure).toBeInstanceOf(WorkerCrashedError);
    expect(await death).toBeInstanceOf(WorkerCrashedError);
    answer();
    expect(await worker.send('echo', 1)).toBe(1);
  });

  it('passes messages through the middleware of both sides in order, and back in reverse', async () => {
    const mark = (own: string) => (message: MiddlewareMessage) => {
      if (message.value === `refuse ${message.direction} in the host`) throw new RangeError(`${own} refuses`);
      return typeof message.value === 'string' ? { value: `${message.value} ${own}-${message.direction}` } : undefined;
    };
    const worker = await open({ driver, script: fixture('middleware.mjs'), middleware: [mark('h1'), mark('h2')] });
    expect(await worker.send('echo', '>')).toBe(
      '> h1-outgoing h2-outgoing w1-incoming w2-incoming w2-outgoing w1-outgoing h2-incoming h1-incoming',
    );
    expect(await worker.send('echo', 5)).toBe(5);
    expect((await failureOf(worker.send('echo', 'refuse outgoing in the host'))).message).toBe('h1 refuses');
    expect(worker.pending).toBe(0);
  });

  it('fails a request alone when the middleware of either side throws, on the way there or back', async () => {
    const refuse = (message: MiddlewareMessage): void => {
      if (message.value === `bad ${message.direction}`) throw new RangeError(`the host refuses ${message.direction}`);
    };
    const host = await open({ driver, middleware: [refuse] });
    const inside = await open({ driver, script: fixture('middleware.mjs') });
    const beside = [host.send('slow', 20), inside.send('echo', 5)];
    for (const [worker, type, payload, why] of [
      [host, 'echo', 'bad outgoing', 'the host refuses outgoing'],
      [host, 'echo', 'bad incoming', 'the host refuses incoming'],
      [inside, 'echo', 'refuse incoming in the worker', 'w1 refuses'],
      [inside, 'refused', undefined, 'w2 refuses'],
    ] as const) {
      expect(await failureOf(worker.send(type, payload))).toMatchObject({ name: 'RangeError', message: why });
    }
    expect(await Promise.all(beside)).toEqual([1, 5]);
    expect(await host.send('echo', 'good')).toBe('good');
    expect(await inside.send('echo', 6)).toBe(6);
    expect([host.pending, inside.pending]).toEqual([0, 0]);
  });

  it('uses a custom serializer, and refuses a worker with another', async () => {
    const worker = await open({ driver, script: fixture('serializer.mjs'), serializer: reversing });
    const value = { text: 'äöü', list: [1, 2, { three: null }], long: 'x'.repeat(20_000) };
    expect(await worker.send('echo', value)).toEqual(value);
    expect(await failureOf(worker.send('echo', 1n))).toBeInstanceOf(SerializationError);
    for (const options of [
      { script: fixture('serializer.mjs') },
      { script: fixture('worker.mjs'), serializer: reversing },
    ]) {
      const error = await failureOf(open({ driver, ...options }));
      expect(error).toBeInstanceOf(WorkerUnavailableError);
      expect(error.message).toMatch(/serializer .* Use the same on both sides/);
    }
  });

  it('transfers buffers if the driver can, and reports an error if it cannot', async () => {
    const worker = await open({ driver });
    const bytes = new Uint8Array(1_000).fill(5);
    const sent = worker.send('echo', bytes, { transfer: [bytes.buffer] });
    if (name === 'child-process') {
      expect(await failureOf(sent)).toBeInstanceOf(UnsupportedOptionError);
      expect(bytes.byteLength).toBe(1_000);
    } else {
      expect(bytes.byteLength).toBe(0);
      expect(await sent).toEqual(new Uint8Array(1_000).fill(5));
    }
    expect(await worker.send('makeBytes', 100)).toEqual(new Uint8Array(100).fill(3));
  });

  it('gives its worker data, environment and arguments', async () => {
    const worker = await open({
      driver,
      workerData: { list: [1, 2] },
      env: { OWN_VARIABLE: 'own' },
      argv: ['--one', 'two'],
    });
    expect(await worker.send('workerData')).toEqual({ list: [1, 2] });
    expect(await worker.send('environment', 'OWN_VARIABLE')).toBe('own');
    expect(await worker.send('environment', 'PATH')).toBe(process.env['PATH']);
    expect(await worker.send('environment', 'ISOLATED_WORKER')).toBeNull();
    expect(await worker.send('argv')).toEqual(['--one', 'two']);
  });

  it('removes variables that are undefined', async () => {
    const worker = await open({ driver, env: { PATH: undefined } });
    expect(await worker.send('environment', 'PATH')).toBeNull();
  });

  it.each([
    [{ ONLY: 'this', NOT: undefined }, { ONLY: 'this' }],
    [undefined, {}],
  ])('gives its worker nothing but %j when that is asked for, also after a crash', async (env, expected) => {
    // Node itself hands this one on to children.
    vi.stubEnv('NODE_V8_COVERAGE', path.join(tmpdir(), 'never-written'));
    try {
      const worker = await open({ driver, inheritEnv: false, ...(env && { env }) });
      expect(await worker.send('wholeEnvironment')).toEqual(expected);
      await failureOf(worker.send('die'));
      expect(await worker.send('wholeEnvironment')).toEqual(expected);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it('sends its trace along: of the call, else of the client', async () => {
    const worker = await open({ driver, traceparent: () => '00-of-the-client' });
    expect(await worker.send('trace')).toBe('00-of-the-client');
    expect(await worker.send('trace', undefined, { traceparent: '00-of-the-call' })).toBe('00-of-the-call');
  });

  it('publishes events on diagnostics channels', async () => {
    const seen: [string, object][] = [];
    const listeners = ['request', 'settled', 'crash', 'restart', 'state'].map((event) => {
      const listen = (message: unknown): void => void seen.push([event, message as object]);
      channel(`isolated-workers:${event}`).subscribe(listen);
      return () => channel(`isolated-workers:${event}`).unsubscribe(listen);
    });
    try {
      const worker = await open({ driver });
      await worker.send('echo', 1);
      await failureOf(worker.send('die'));
      await worker.send('echo', 2);
      await worker.close();
    } finally {
      for (const stop of listeners) stop();
    }
    const of = (event: string): object[] => seen.filter(([own]) => own === event).map(([, message]) => message);
    expect(of('request')).toMatchObject([{ type: 'echo', attempt: 1 }, { type: 'die' }, { type: 'echo' }]);
    expect(of('settled')).toMatchObject([
      { type: 'echo', durationMs: expect.any(Number) as number },
      { type: 'die', error: { name: 'WorkerCrashedError' } },
      { type: 'echo' },
    ]);
    expect(of('crash')).toMatchObject([{ suspects: 1, bystanders: 0 }]);
    expect(of('restart')).toEqual([{ delayMs: 0 }]);
    expect(of('state').map((change) => (change as { to: string }).to)).toEqual([
      'ready',
      'restarting',
      'ready',
      'closing',
      'closed',
    ]);
  });

  it('does not mind a logger that throws', async () => {
    const fail = vi.fn<() => void>(() => {
      throw new Error('no paper');
    });
    const logger = { debug: fail, info: fail, warn: fail, error: fail };
    const worker = await open({ driver, logger, logLevel: 'debug' });
    expect(await failureOf(worker.send('die'))).toBeInstanceOf(WorkerCrashedError);
    expect(await worker.send('echo', 1)).toBe(1);
    expect(fail).toHaveBeenCalled();
  });

  it('closes once, however often and from however many sides it is asked', async () => {
    const worker = await open({ driver });
    const pending = failureOf(worker.send('hang'));
    await Promise.all([worker.close(), worker.close(), worker.stop(), worker[Symbol.asyncDispose]()]);
    await worker.close();
    expect(await pending).toBeInstanceOf(WorkerClosedError);
    expect(await failureOf(worker.send('echo'))).toBeInstanceOf(WorkerClosedError);
    expect(worker.state).toBe('closed');
    expect(worker.isActive).toBe(false);
  });

  it('is closed at the end of an `await using` block', async () => {
    let outside: WorkerClient<Loose>;
    {
      await using worker = await open({ driver });
      outside = worker;
      expect(await worker.send('echo', 1)).toBe(1);
    }
    expect(outside.state).toBe('closed');
  });

  it('drains: pending requests are answered, new ones are refused', async () => {
    const worker = await open({ driver });
    const answer = worker.send('slow', 50);
    await Promise.all([worker.drain(), failureOf(worker.send('echo'))]);
    expect(await answer).toBe(1);
    expect(worker.pending).toBe(0);
  });

  it('discards output when configured to', async () => {
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      const quiet = await open({ driver, stderr: 'ignore', stdout: 'ignore' });
      await quiet.send('say', 'unheard');
      expect(await failureOf(quiet.send('exit', 1))).toBeInstanceOf(WorkerCrashedError);
      expect(write).not.toHaveBeenCalled();
      const loud = await open({ driver, stderr: 'inherit' });
      await loud.send('say', 'heard');
      await eventually(() => expect(write.mock.calls.join('')).toContain('heard'));
    } finally {
      write.mockRestore();
    }
  });
});

it('does not mind what the script of a thread posts on its own', async () => {
  const worker = await open({ driver: workerThreads });
  for (const value of [null, 'hello', '[1,null]', 5, { any: 'thing' }, [], [null], [99, 1]]) {
    await worker.send('post', value);
  }
  expect(await worker.send('echo', 1)).toBe(1);
});

it('a host with unreferenced workers gets its answers, and ends by itself with nothing closed', async () => {
  const host = new Child(process.execPath, [fixture('unref-host.mjs')]);
  try {
    const exit = await host.exited;
    expect(host.stderr).toEqual([]);
    const lines = ['child-process', 'worker-threads'].flatMap((name) => [
      `${name} worker 1`,
      `${name} retried 2`,
      `${name} recycled`,
      `${name} pool 1`,
      `${name} closed`,
    ]);
    expect([...host.stdout].toSorted()).toEqual([...lines, 'kept until closed'].toSorted());
    expect(exit).toEqual({ code: 0, signal: null });
  } finally {
    await host.end();
  }
});
