import { RpcLogCategory, RpcLogLevel, StatusResultStatus, type TypedDataInit } from '@drover/function-rpc';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endAll, httpRequest, WorkerUnderTest } from './support/worker-under-test.js';

const { Success, Failure } = StatusResultStatus;

describe('an invocation of a v4 function', () => {
  let worker: WorkerUnderTest;
  beforeAll(async () => {
    worker = await WorkerUnderTest.withApp('v4-commonjs');
  });
  afterAll(endAll);

  const see = async (data: TypedDataInit | undefined, more = {}): Promise<Record<string, unknown>> => {
    const { response } = await worker.call('see', data, more);
    expect(response.result).toMatchObject({ status: Success });
    return JSON.parse(response.returnValue?.json ?? '') as Record<string, unknown>;
  };

  it('answers HTTP with status, headers, cookies and body', async () => {
    const request = httpRequest('GET', 'http://localhost/api/hello/you', { params: { name: 'you' } });
    const { response, logs } = await worker.call('hello', request);
    const http = response.returnValue?.http;
    expect(http?.statusCode).toBe('201');
    expect({ ...http?.headers }).toEqual({ 'content-type': 'text/plain;charset=UTF-8', 'x-method': 'GET' });
    expect(http?.cookies).toMatchObject([{ name: 'c', value: 'v', sameSite: 3, maxAge: { value: 5 } }]);
    expect(String(http?.body?.bytes)).toBe('hello you');
    expect(logs).toMatchObject([{ message: 'hello you', category: 'hello.Invocation' }]);
  });

  it('reads the body of a request', async () => {
    const { response } = await worker.call(
      'hello',
      httpRequest('POST', 'http://localhost/api/hello', { body: 'reader' }),
    );
    expect(String(response.returnValue?.http?.body?.bytes)).toBe('hello reader');
  });

  it('answers with no value when the handler returns nothing', async () => {
    const { response } = await worker.call('nothing', httpRequest('GET', 'http://localhost/api/nothing'));
    expect(response.result?.status).toBe(Success);
    expect(response.returnValue).toBeUndefined();
  });

  it('sends outputs that were set', async () => {
    const { response } = await worker.call('withQueue', httpRequest('GET', 'http://localhost/api/withQueue'));
    expect(response.outputData.map(({ data }) => data)).toEqual([{ json: '[{"a":1},{"a":2}]' }]);
    expect(String(response.returnValue?.http?.body?.bytes)).toBe('{"ok":true}');
  });

  it.each([
    ['text', { string: 'text' }, 'text'],
    ['empty text', { string: '' }, ''],
    ['text that is JSON', { string: '{"a":[1]}' }, { a: [1] }],
    ['text that is a number', { string: '12' }, 12],
    ['text that looks like a number', { string: '007' }, '007'],
    ['text that begins like a word of JSON', { string: 'nullable' }, 'nullable'],
    ['text that begins like JSON', { string: '{not json' }, '{not json'],
    ['JSON', { json: '{"b":null}' }, { b: null }],
    ['bytes', { bytes: Buffer.from([1, 255]) }, { buffer: '01ff' }],
    ['a stream', { stream: Buffer.from([2]) }, { buffer: '02' }],
    ['an integer', { int: -5 }, -5],
    ['a fraction', { double: 0.5 }, 0.5],
    ['texts', { collectionString: { string: ['a', '', '{"c":1}'] } }, ['a', '', { c: 1 }]],
    ['several bytes', { collectionBytes: { bytes: [Buffer.from([3])] } }, [{ buffer: '03' }]],
    ['integers', { collectionSint64: { sint64: [1, -2] } }, [1, -2]],
    ['fractions', { collectionDouble: { double: [1.5] } }, [1.5]],
    ['nothing', {}, undefined],
  ] as const)('sees %s', async (_, data, value) => {
    expect((await see(data))['value']).toEqual(value);
  });

  it('gets no trigger argument when the host sends none', async () => {
    expect((await see(undefined))['count']).toBe(0);
  });

  it('sees trigger metadata in camel case, all the way down', async () => {
    const triggerMetadata = {
      Id: { string: '2f6bb1c4-8a2f-4b3c-9f0e-6d1c7f3b2a10' },
      DequeueCount: { json: '1' },
      Offset: { string: '12' },
      Nested: { json: '{"Outer":{"Inner":[{"Deep":1}]}}' },
      InsertionTime: { json: '"2024-01-01T00:00:00+00:00"' },
    };
    expect((await see({ string: 'x' }, { triggerMetadata }))['metadata']).toEqual({
      id: '2f6bb1c4-8a2f-4b3c-9f0e-6d1c7f3b2a10',
      dequeueCount: 1,
      offset: 12,
      nested: { outer: { inner: [{ deep: 1 }] } },
      insertionTime: '2024-01-01T00:00:00+00:00',
    });
  });

  it('sees which attempt it is, the trace it belongs to, and how it is bound', async () => {
    const seen = await see(
      { string: 'x' },
      {
        invocationId: 'the-id',
        retryContext: { retryCount: 0, maxRetryCount: 2 },
        traceContext: { traceParent: '00-a-b-01', traceState: 's', attributes: { k: 'v' } },
      },
    );
    expect(seen).toMatchObject({
      names: ['see', 'the-id'],
      retry: { retryCount: 0, maxRetryCount: 2 },
      trace: { traceParent: '00-a-b-01', traceState: 's', attributes: { k: 'v' } },
      options: {
        trigger: { name: 'input', type: 'queueTrigger', queueName: 'in', connection: 'Storage', direction: 'in' },
        extraInputs: [],
        extraOutputs: [],
      },
    });
  });

  it('sees a timer in camel case', async () => {
    const schedule = { Schedule: { AdjustForDST: true }, ScheduleStatus: { Last: 'a', Next: 'b' }, IsPastDue: false };
    const { response } = await worker.call('timer', { json: JSON.stringify(schedule) });
    expect(JSON.parse(response.returnValue?.json ?? '')).toEqual({
      schedule: { adjustForDST: true },
      scheduleStatus: { last: 'a', next: 'b' },
      isPastDue: false,
    });
  });

  it.each([
    ['text', { string: 'text' }],
    ['integer', { int: 42 }],
    ['fraction', { double: 1.5 }],
    ['huge', { double: 1e30 }],
    ['boolean', { json: 'true' }],
    ['object', { json: '{"a":[1,null]}' }],
    ['list', { json: '["a","b"]' }],
    ['bytes', { bytes: Buffer.from('bytes') }],
    ['view', { bytes: Buffer.from([1, 0, 2, 0]) }],
    ['arrayBuffer', { bytes: Buffer.from([1, 2, 3]) }],
    ['nothing', undefined],
    ['null', undefined],
  ] as const)('may return a value: %s', async (name, expected) => {
    const { response } = await worker.call('give', { string: name });
    expect(response.returnValue).toEqual(expected);
  });

  it('fails for inputs that it has no binding for', async () => {
    const id = worker.invoke('see', { name: 'somethingElse', data: { string: 'x' } });
    const { response } = await worker.finished(id);
    expect(response.result?.status).toBe(Failure);
    expect(response.result?.exception?.message).toContain('Failed to find binding "somethingElse"');
    expect(response.result?.exception?.isUserException).toBe(false);
  });

  it.each([
    ['error', 'RangeError', 'out of range'],
    ['rejection', 'Error', 'rejected'],
    ['text', 'Error', 'just text'],
    ['undefined', 'Error', 'Unknown error: undefined was thrown'],
    ['null', 'Error', 'Unknown error: null was thrown'],
    ['object', 'Error', '{"code":7}'],
    ['frozen', 'Error', 'frozen'],
  ])('fails with what the handler throws: %s', async (how, type, text) => {
    const { response } = await worker.call('fail', { string: how });
    expect(response.result).toMatchObject({
      status: Failure,
      exception: { message: text, type, isUserException: true },
    });
  });

  it('reports the origin of an error, and its cause', async () => {
    const { response } = await worker.call('fail', { string: 'cause' });
    const stack = response.result?.exception?.stackTrace ?? '';
    expect(stack).toMatch(/^Error: outer\n.*failing\.js/);
    expect(stack).toContain('[cause]: TypeError: inner\n');
  });

  it('fails when its result cannot be sent', async () => {
    const { response } = await worker.call('fail', { string: 'circular' });
    expect(response.result?.status).toBe(Failure);
    expect(response.result?.exception?.message).toMatch(/circular|contains itself/i);
  });

  it('logs with level, category and invocation id, in order and before the response', async () => {
    const { logs } = await worker.call('log', { string: 'x' }, { invocationId: 'logging' });
    const { Trace, Debug, Information, Warning, Error } = RpcLogLevel;
    expect(logs.map(({ level, message }) => [level, message])).toEqual([
      [Trace, 'a trace'],
      [Debug, 'a debug line'],
      [Information, "text and { an: 'object' } %d"],
      [Information, '1 of many'],
      [Warning, 'a warning'],
      [Error, 'logged, not thrown'],
    ]);
    for (const log of logs) {
      expect(log).toMatchObject({
        invocationId: 'logging',
        category: 'log.Invocation',
        logCategory: RpcLogCategory.User,
      });
    }
    await worker.child.line(/^to the console$/);
  });

  it('warns of lines after the end', async () => {
    await worker.call('logLater', { string: 'x' }, { invocationId: 'late' });
    await expect
      .poll(() =>
        worker.messages.flatMap((one) =>
          one.kind === 'rpcLog' && one.value.invocationId === 'late' ? [one.value.message] : [],
        ),
      )
      .toEqual([expect.stringContaining("Unexpected call to 'log' on the context object") as string, 'after the end']);
  });

  it('runs beside others, and answers in whatever order they end', async () => {
    const slow = worker.invoke('wait', { name: 'input', data: { string: 'x' } });
    const quick = worker.invoke('see', { name: 'input', data: { string: 'x' } });
    await worker.finished(quick);
    worker.invoke('release', { name: 'input', data: { string: 'x' } });
    expect((await worker.finished(slow)).response.returnValue).toEqual({ string: 'released' });
  });

  it('is not run a second time while it runs', async () => {
    const more = { invocationId: 'twice' };
    worker.invoke('untilAborted', { name: 'input', data: { string: 'return' } }, more);
    worker.invoke('untilAborted', { name: 'input', data: { string: 'return' } }, more);
    await expect
      .poll(() => worker.messages.some((one) => one.kind === 'rpcLog' && one.value.message.includes('twice')))
      .toBe(true);
  });
});

describe('hooks', () => {
  afterAll(endAll);

  it('run around invocations and may change them', async () => {
    const worker = await WorkerUnderTest.withApp('hooks');
    const call = async (input: string): Promise<unknown> => {
      const { response } = await worker.call('hooked', { string: input });
      return response.result?.status === Success ? response.returnValue : response.result?.exception?.message;
    };
    expect(await call('plain')).toEqual({ string: 'got plain' });
    expect(await call('replace input')).toEqual({ string: 'got replaced' });
    expect(await call('replace handler')).toEqual({ string: 'by another handler' });
    expect(await call('replace result')).toEqual({ string: 'by a hook' });
    expect(await call('refuse')).toBe('a hook refused');
    expect(await call('throw')).toBeUndefined();
    const { response } = await worker.call('hooked', { string: 'seen' });
    expect(JSON.parse(response.returnValue?.json ?? '')).toEqual([
      'appStart',
      'pre hooked',
      'post before "got plain"',
      'pre hooked',
      'post before "got replaced"',
      'pre hooked',
      'post before "by another handler"',
      'pre hooked',
      'post before "got replace result"',
      'pre hooked',
      'pre hooked',
      'post before thrown',
      'pre hooked',
    ]);
  });

  it('of logs may change lines, and may log themselves', async () => {
    const worker = await WorkerUnderTest.withApp('hooks');
    const { logs } = await worker.call('hooked', { string: 'plain' });
    expect(logs.map(({ level, message }) => [level, message])).toEqual([
      [RpcLogLevel.Error, 'changed in hooked'],
      [RpcLogLevel.Information, 'in a hook'],
    ]);
  });
});

describe('responses and logs that are too much', () => {
  afterAll(endAll);

  it('fail one invocation, not the stream, when they exceed the limit of the host', async () => {
    const worker = await WorkerUnderTest.start({ maxMessageBytes: 2_000_000 });
    await worker.init((await import('./support/worker-under-test.js')).fixture('v4-commonjs'));
    const { response } = await worker.call('fail', { string: 'large' });
    expect(response.result?.exception?.message).toMatch(
      /^The response has 3\d{6} bytes; the host accepts at most 2000000\. Return a smaller response\.$/,
    );
    expect((await worker.call('see', { string: 'x' })).response.result?.status).toBe(Success);
  });

  it('lose log lines, counted, and never the response', async () => {
    const worker = await WorkerUnderTest.withApp('v4-commonjs');
    const trigger = await worker.triggerOf('flood');
    const { response, logs } = await worker.finished(worker.invoke('flood', { name: trigger, data: { string: 'x' } }));
    expect(response.result?.status).toBe(Success);
    expect(logs.length).toBeGreaterThan(3_000);
    expect(logs.length).toBeLessThan(5_000);
    await worker.call('log', { string: 'x' });
    const told = worker.messages.flatMap((one) => (one.kind === 'rpcLog' ? [one.value.message] : []));
    expect(told).toContain(`${5_000 - logs.length} log lines were dropped: the host did not read them in time.`);
  });
});
