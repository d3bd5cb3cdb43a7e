import { describe, expect, it } from 'vitest';
import { UnsupportedOptionError } from '../../types/errors.js';
import { createWorker } from '../create-worker.js';
import { createPool } from '../pool/create-pool.js';
import { LateDriver } from '../scripted-driver.test.fixture.js';
import { startWorkerServer } from '../server/worker-server.js';
import { kind, type ToHost } from '../../types/wire-message.js';
import { encodeMessage } from '../wire/frame-codec.js';
import { failureOf, fixture, type Loose, type LooseStreams } from '../test-bench.test.fixture.js';

const open = (options: object, create: typeof createWorker | typeof createPool = createWorker) => {
  const driver = new LateDriver();
  const all = { script: fixture('worker.mjs'), driver, logLevel: 'silent', ...options };
  return { driver, client: create<Loose>(all as never) };
};

/** Expects that nothing is started, and returns what the error says. */
async function refusal(options: object, create?: typeof createWorker | typeof createPool): Promise<string> {
  const { driver, client } = open(options, create);
  const error = await failureOf(client);
  expect(error).toBeInstanceOf(UnsupportedOptionError);
  expect(driver.connections).toEqual([]);
  return error.message;
}

describe('an option that createWorker does not have', () => {
  it.each([
    ['of the public library', { timeout: { WORKER_MESSAGE: 100 } }, 'Use timeout.request.'],
    ['of the public library', { timeout: { WORKER_STARTUP: 100 } }, 'Use timeout.startup.'],
    ['of the public library', { timeout: { SERVER_CONNECT: 100 } }, 'Use timeout.startup, which'],
    ['of the public library', { timeout: { resize: 100 } }, 'use timeout.byType: { resize: 100 }'],
    ['of the public library', { driverOptions: { workerData: 1 } }, 'options of their own: workerData'],
    ['of the public library', { detached: true }, 'Workers always end with their host.'],
    ['of the public library', { spawnOptions: {} }, 'Use env, argv'],
    ['of the public library', { connection: {} }, 'Use timeout.startup'],
    ['of the public library', { socketPath: '/tmp/x' }, 'Omit it'],
    ['of the public library', { debug: true }, "Use logLevel: 'debug'."],
    ['of pools', { size: 2 }, 'It is an option of createPool.'],
    ['with a typing error', { timeuot: 100 }, "createWorker has no option 'timeuot'. Did you mean 'timeout'?"],
    [
      'with a typing error',
      { restart: { maxDelay: 1 } },
      "restart has no option 'maxDelay'. Did you mean 'maxDelayMs'?",
    ],
    ['of no known name', { zebra: 1 }, "createWorker has no option 'zebra'. Its options are: script, driver, env"],
    ['from the prototype', { constructor: 1 }, "createWorker has no option 'constructor'."],
    ['in a part of an option', { user: { uid: 1, gid: 1, name: 'x' } }, "user has no option 'name'."],
  ])('is refused with the right one: %s %o', async (_, options, message) => {
    expect(await refusal(options)).toContain(message);
  });
});

describe('a value of a wrong type', () => {
  it.each([
    [{ script: undefined }, 'script is undefined. It must be a path or a URL.'],
    [{ script: 7 }, 'script is 7. It must be a path or a URL.'],
    [{ driver: 'worker-threads' }, "driver is 'worker-threads'. It must be a driver, such as childProcess"],
    [{ timeout: '100' }, "timeout is '100'. It must be a number of milliseconds, or an object."],
    [{ timeout: -1 }, 'timeout is -1.'],
    [{ timeout: Number.NaN }, 'timeout is NaN.'],
    [{ timeout: { request: '1s' } }, "timeout.request is '1s'. It must be a number of milliseconds, 0 or more."],
    [{ timeout: { byType: { resize: '1s' } } }, "timeout.byType.resize is '1s'."],
    [{ timeout: { onTimeout: 'kill' } }, "timeout.onTimeout is 'kill'. It must be 'keep' or 'recycle'."],
    [{ unexpectedShutdown: 'retry' }, "unexpectedShutdown is 'retry'. It must be a strategy, such as"],
    [{ unexpectedShutdown: { strategy: 'again' } }, "unexpectedShutdown.strategy is 'again'. It must be 'reject' or"],
    [{ unexpectedShutdown: { strategy: 'retry', attempts: 0 } }, 'unexpectedShutdown.attempts is 0.'],
    [{ unexpectedShutdown: { strategy: 'reject', attempts: 3 } }, "It must be 'retry' when attempts is given"],
    [
      { unexpectedShutdown: { strategy: 'reject', retries: 3 } },
      'unexpectedShutdown.retries is 3. It must be the strategy',
    ],
    [
      { unexpectedShutdown: { strategy: 'reject', byType: { a: { strategy: 'retry', attempts: '3' } } } },
      "unexpectedShutdown.byType.a.attempts is '3'.",
    ],
    [{ env: { PORT: 80 } }, 'env.PORT is 80. It must be a string.'],
    [{ argv: 'one' }, "argv is 'one'. It must be an array of strings."],
    [{ execArgv: [1] }, 'execArgv[0] is 1. It must be a string.'],
    [{ maxHeapMb: '64' }, "maxHeapMb is '64'. It must be a number above 0."],
    [{ maxConcurrent: 0 }, 'maxConcurrent is 0. It must be a whole number from 1'],
    [{ standby: 1 }, 'standby is 1. It must be true or false.'],
    [{ middleware: () => undefined }, 'middleware is a function. It must be an array of functions.'],
    [
      { middleware: [(message: unknown, direction: unknown) => [message, direction]] },
      'middleware[0] has two parameters.',
    ],
    [{ serializer: { serialize() {}, deserialize() {} } }, 'serializer.name is undefined. It must be a string.'],
    [{ hostHandlers: { secret: 'x' } }, "hostHandlers.secret is 'x'. It must be a function."],
    [{ logger: { error() {} } }, 'logger.debug is undefined. It must be a function.'],
    [{ logLevel: 'verbose' }, "logLevel is 'verbose'. It must be 'debug' or"],
    [{ stdout: 'pipe' }, "stdout is 'pipe'. It must be 'inherit' or 'ignore'."],
  ])('is refused: %o', async (options, message) => {
    expect(await refusal(options)).toContain(message);
  });

  it('is refused where there are no options at all', async () => {
    const error = await failureOf(createWorker<Loose>('worker.mjs' as never));
    expect(error.message).toBe("The argument of createWorker is 'worker.mjs'. It must be an object with options.");
  });
});

describe('a pool refuses', () => {
  it.each([
    [{ maxConcurrent: 2 }, 'Use concurrencyPerWorker.'],
    [{ standby: true }, 'Use minIdle, which keeps idle workers warm.'],
    [{ timeout: { WORKER_MESSAGE: 100 } }, 'Use timeout.request.'],
    [{ maxThreads: 4 }, "createPool has no option 'maxThreads'. Its options are: script"],
    [{ size: 2.5 }, 'size is 2.5. It must be a whole number from 1.'],
    [{ minIdle: -1 }, 'minIdle is -1. It must be a number, 0 or more.'],
    [{ distribution: 'random' }, "distribution is 'random'. It must be 'spread' or 'pack'."],
    [{ cancellation: { acknowledgeMs: '1' } }, "cancellation.acknowledgeMs is '1'."],
    [{ events: { onUnavailable: 1 } }, 'events.onUnavailable is 1. It must be a function.'],
    [{ size: 1, minIdle: 2 }, 'minIdle (2) is more than size (1)'],
  ])('%o', async (options, message) => {
    expect(await refusal(options, createPool)).toContain(message);
  });

  it('limits that are unknown or no counts when it is resized', async () => {
    const pool = await createPool<Loose>({
      script: fixture('worker.mjs'),
      driver: new LateDriver(),
      logLevel: 'silent',
    });
    expect(() => pool.resize({ size: 0 })).toThrow('size is 0. It must be a whole number from 1.');
    expect(() => pool.resize({ max: 4 } as never)).toThrow(
      "resize has no option 'max'. Its options are: size, concurr",
    );
    expect(() => pool.resize(4 as never)).toThrow('The argument of resize is 4. It must be an object with options.');
    pool.resize({ size: 3 });
    await pool.close();
  });
});

describe.each([
  ['worker', createWorker],
  ['pool', createPool],
])('a call of a %s', (_, create) => {
  it.each([
    [{ timeOut: 100 }, "send has no option 'timeOut'. Did you mean 'timeout'?"],
    [{ timeout: '100' }, "timeout is '100'. It must be a number of milliseconds, 0 or more."],
    [{ signal: 'abort' }, "signal is 'abort'. It must be an AbortSignal."],
    [{ transfer: new ArrayBuffer(1) }, 'transfer is an object. It must be an array of ArrayBuffers.'],
    [{ transfer: [new Uint8Array(1)] }, 'transfer[0] is an object. It must be an ArrayBuffer.'],
    [{ onProgress: true }, 'onProgress is true. It must be a function.'],
    [{ highWaterMark: 2 }, 'It is an option of stream.'],
    [100, 'The argument of send is 100. It must be an object with options.'],
    [null, 'The argument of send is null.'],
  ])('rejects with what is wrong, and sends nothing: %o', async (options, message) => {
    const { driver, client } = open({}, create);
    const worker = await client;
    const error = await failureOf(worker.send('work', undefined, options as never));
    expect(error).toBeInstanceOf(UnsupportedOptionError);
    expect(error.message).toContain(message);
    const streams = worker as unknown as { stream: (...args: unknown[]) => AsyncIterableIterator<LooseStreams> };
    expect(() => streams.stream('rows', undefined, { highWaterMark: 0 })).toThrow('highWaterMark is 0.');
    expect(driver.connections.flatMap(({ requests }) => requests)).toEqual([]);
    await worker.close();
  });

  it('accepts options that are undefined', async () => {
    const { driver, client } = open({ timeout: undefined, env: undefined }, create);
    const worker = await client;
    const answer = worker.send('work', 1, { timeout: undefined, signal: undefined } as never);
    driver.connections[0]?.answer('work', 'done');
    expect(await answer).toBe('done');
    await worker.close();
  });
});

describe('startWorkerServer refuses', () => {
  const handlers = { work: () => 1 };
  it.each([
    [handlers, { driver: {} }, 'Omit it: the worker finds out by itself how it was started.'],
    [handlers, { logLevel: 'info' }, 'It is an option of createWorker.'],
    [handlers, { onclose() {} }, "startWorkerServer has no option 'onclose'. Did you mean 'onClose'?"],
    [handlers, { onClose: 1 }, 'onClose is 1. It must be a function.'],
    [handlers, { serializer: 'json' }, "serializer is 'json'. It must be a serializer: an object with name"],
    [{ work: 1 }, {}, 'handlers.work is 1. It must be a function.'],
    [undefined, {}, 'handlers is undefined. It must be an object with a function'],
  ])('%o, %o', async (given, options, message) => {
    const error = await failureOf(startWorkerServer<Loose>(given as never, options as never));
    expect(error).toBeInstanceOf(UnsupportedOptionError);
    expect(error.message).toContain(message);
  });
});

describe('a program that returns what it returned to the public library', () => {
  it.each([
    [{ type: 'work', payload: 1 }, "The middleware returned an object without value for 'work'. Return { value }"],
    ['text', "The middleware returned a string for 'work'."],
  ])('is told what to return from middleware: %o', async (returned, message) => {
    const { driver, client } = open({ middleware: [() => returned] });
    const worker = await client;
    const error = await failureOf(worker.send('work', 1));
    expect(error).toBeInstanceOf(UnsupportedOptionError);
    expect(error.message).toContain(message);
    expect(driver.last.requests).toEqual([]);
    await worker.close();
  });

  it('is told what a serializer returns', () => {
    const serializer = { name: 'old', serialize: JSON.stringify as never, deserialize: () => 1 };
    const message: ToHost = [kind.result, 1, { a: 1 }];
    expect(() => encodeMessage(message, serializer)).toThrow(
      "serializer 'old' returned string. It must return a Uint8Array, such as Buffer.from(text).",
    );
  });
});
