import {
  BindingInfoDataType,
  RpcRetryOptionsRetryStrategy,
  StatusResultStatus,
  type TypedDataInit,
} from '@drover/function-rpc';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { app, CompatWorker, endAll, type Call, type Done } from './worker.js';

/**
 * The official library, as it is on npm, in our worker: once as the worker is shipped, which does the usual invocations
 * itself, and once with the library doing all of them. Both have to show a handler the same, the first time and afterwards.
 */
let shipped: CompatWorker;
let plain: CompatWorker;
beforeAll(async () => {
  [shipped, plain] = await Promise.all([
    CompatWorker.withApp('v4-commonjs'),
    CompatWorker.withApp('v4-commonjs', { DROVER_WORKER_PLAIN_LIBRARY: '1' }),
  ]);
});
afterAll(endAll);

const { Success } = StatusResultStatus;

/** Runs a function four times, and returns the one result of them all. */
async function everywhere<T>(read: (done: Done) => T, name: string, call: Call): Promise<T> {
  const results: T[] = [];
  for (const worker of [shipped, plain, shipped, plain]) results.push(read(await worker.call(name, call)));
  const [first] = results;
  for (const result of results) expect(result).toEqual(first);
  return first as T; // there are four
}

const jsonOf = ({ response }: Done): Record<string, unknown> => {
  expect(response.result).toMatchObject({ status: Success });
  return JSON.parse(response.returnValue?.json ?? 'null') as Record<string, unknown>;
};

const see = (name: string, data: TypedDataInit | undefined, triggerMetadata: Record<string, TypedDataInit> = {}) =>
  everywhere(jsonOf, name, { ...(data && { data }), triggerMetadata });

const json = (value: unknown): TypedDataInit => ({ json: JSON.stringify(value) });
const string = (text: string): TypedDataInit => ({ string: text });

describe('what an app registers', () => {
  it('is reported by every worker in the same words', () => {
    expect([...shipped.functions.values()].map(({ name, rawBindings }) => [name, rawBindings])).toEqual(
      [...plain.functions.values()].map(({ name, rawBindings }) => [name, rawBindings]),
    );
    for (const { name, functionId, directory, scriptFile, language } of shipped.functions.values()) {
      expect(functionId).toBe(name);
      expect(directory).toBe(app('v4-commonjs/src/functions'));
      expect(scriptFile).toMatch(/^\w+\.js$/);
      expect(language).toBe('');
    }
  });

  it.each([
    ['queue', { type: 'queueTrigger', queueName: 'in', connection: 'Storage' }],
    ['queueBinary', { type: 'queueTrigger', dataType: 'binary' }],
    ['blob', { type: 'blobTrigger', path: 'samples/{name}', source: 'EventGrid' }],
    ['busQueue', { type: 'serviceBusTrigger', queueName: 'in', isSessionsEnabled: true }],
    ['busQueueMany', { type: 'serviceBusTrigger', cardinality: 'many', autoCompleteMessages: false }],
    ['busTopic', { type: 'serviceBusTrigger', topicName: 't', subscriptionName: 's' }],
    ['hub', { type: 'eventHubTrigger', eventHubName: 'h', cardinality: 'one' }],
    ['hubMany', { type: 'eventHubTrigger', eventHubName: '%HubName%', cardinality: 'many', consumerGroup: 'g' }],
    ['grid', { type: 'eventGridTrigger' }],
    ['cosmos', { type: 'cosmosDBTrigger', containerName: 'c', createLeaseContainerIfNotExists: true }],
    ['timer', { type: 'timerTrigger', schedule: '0 */5 * * * *', runOnStartup: false, useMonitor: true }],
    ['warmup', { type: 'warmupTrigger' }],
    ['sql', { type: 'sqlTrigger', tableName: 'dbo.Orders', connectionStringSetting: 'Sql' }],
    ['mySql', { type: 'mysqlTrigger', tableName: 'Orders' }],
    ['pubSub', { type: 'webPubSubTrigger', name: 'message', hub: 'chat', connections: ['PubSub'] }],
    ['connector', { type: 'connectorTrigger' }],
    ['mcpTool', { type: 'mcpToolTrigger', toolName: 'add' }],
    ['mcpResource', { type: 'mcpResourceTrigger', uri: 'file://readme' }],
    ['mcpPrompt', { type: 'mcpPromptTrigger', promptName: 'greet' }],
    ['generic', { type: 'kafkaTrigger', name: 'event', topic: 'orders', nested: { a: [1, 'b'] } }],
    ['genericByOtherName', { type: 'pigeonTrigger', loft: 'north' }],
  ])('has its options word for word: %s', (name, options) => {
    const [trigger] = shipped.bindings(name);
    expect(trigger).toMatchObject({ ...options, direction: 'in', properties: { supportsDeferredBinding: 'false' } });
    const bindings = shipped.functions.get(name)?.bindings ?? {};
    expect(bindings[String(trigger?.['name'])]).toMatchObject({ type: options.type, direction: 0 });
    if (!('name' in options)) expect(trigger?.['name']).toMatch(new RegExp(`^\\w+Trigger[0-9a-f]{10}$`, 'i'));
  });

  it('has the type of its data in the words of the protocol', () => {
    const { bindings = {} } = shipped.functions.get('queueBinary') ?? {};
    expect(Object.values(bindings)).toMatchObject([{ dataType: BindingInfoDataType.binary }]);
  });

  it('has its retry policy, the exponential one too, which is zero on the wire', () => {
    expect(shipped.functions.get('retriedFixed')?.retryOptions).toMatchObject({
      maxRetryCount: 3,
      retryStrategy: RpcRetryOptionsRetryStrategy.fixed_delay,
      delayInterval: { seconds: 30 },
    });
    expect(shipped.functions.get('retriedExponential')?.retryOptions).toMatchObject({
      maxRetryCount: -1,
      retryStrategy: RpcRetryOptionsRetryStrategy.exponential_backoff,
      minimumInterval: { seconds: 2 },
      maximumInterval: { seconds: 300 },
    });
    expect(shipped.functions.get('queue')?.retryOptions).toBeUndefined();
  });
});

describe('a handler sees', () => {
  it('a message of a storage queue', async () => {
    const seen = await see('queue', string('{"id":5,"Name":"n"}'), {
      QueueTrigger: string('{"id":5,"Name":"n"}'),
      DequeueCount: json(2),
      ExpirationTime: json('2030-01-08T00:00:00+00:00'),
      InsertionTime: json('2030-01-01T00:00:00+00:00'),
      NextVisibleTime: json('2030-01-01T00:10:00+00:00'),
      Id: string('5b0f4c2e-0000-4000-8000-000000000000'),
      PopReceipt: string('AgAAAAMAAAAAAAAA'),
      Name: string('n'),
    });
    expect(seen).toEqual({
      args: 2,
      input: { id: 5, Name: 'n' },
      metadata: {
        queueTrigger: { id: 5, name: 'n' },
        dequeueCount: 2,
        expirationTime: '2030-01-08T00:00:00+00:00',
        insertionTime: '2030-01-01T00:00:00+00:00',
        nextVisibleTime: '2030-01-01T00:10:00+00:00',
        id: '5b0f4c2e-0000-4000-8000-000000000000',
        popReceipt: 'AgAAAAMAAAAAAAAA',
        name: 'n',
      },
      retry: '(undefined)',
      trace: { traceParent: '', traceState: '', attributes: {} },
      trigger: 'queueTrigger',
      name: 'queue',
      hasInvocationId: true,
    });
    expect(await see('queueBinary', { bytes: Buffer.from([1, 2]) })).toMatchObject({ input: { buffer: '0102' } });
  });

  it('a blob', async () => {
    const seen = await see(
      'blob',
      { bytes: Buffer.from('blob') },
      {
        BlobTrigger: string('samples/a.txt'),
        Uri: json('https://account.blob/samples/a.txt'),
        Properties: json({ LastModified: '2030-01-01T00:00:00+00:00', ContentLength: 4 }),
        Metadata: json({ Owner: 'me' }),
        name: string('a.txt'),
      },
    );
    expect(seen).toMatchObject({
      input: { buffer: Buffer.from('blob').toString('hex') },
      metadata: {
        blobTrigger: 'samples/a.txt',
        uri: 'https://account.blob/samples/a.txt',
        properties: { lastModified: '2030-01-01T00:00:00+00:00', contentLength: 4 },
        metadata: { owner: 'me' },
        name: 'a.txt',
      },
    });
  });

  it('a message of a Service Bus queue or topic', async () => {
    const seen = await see('busQueue', string('plain text'), {
      MessageId: string('m1'),
      SequenceNumber: json(7),
      DeliveryCount: json(1),
      EnqueuedTimeUtc: json('2030-01-01T00:00:00Z'),
      LockToken: string('00000000-0000-4000-8000-000000000000'),
      ContentType: string('text/plain'),
      Subject: string('s'),
      Label: string('s'),
      SessionId: string('session-1'),
      TimeToLive: json('14.00:00:00'),
      ApplicationProperties: json({ Priority: 1, tenant: 'a' }),
      UserProperties: json({ Priority: 1, tenant: 'a' }),
    });
    expect(seen).toMatchObject({
      input: 'plain text',
      metadata: {
        messageId: 'm1',
        sequenceNumber: 7,
        deliveryCount: 1,
        enqueuedTimeUtc: '2030-01-01T00:00:00Z',
        contentType: 'text/plain',
        subject: 's',
        label: 's',
        sessionId: 'session-1',
        timeToLive: '14.00:00:00',
        applicationProperties: { priority: 1, tenant: 'a' },
        userProperties: { priority: 1, tenant: 'a' },
      },
    });
    const bytes = await see('busTopic', { bytes: Buffer.from([7]) }, { MessageId: string('12') });
    expect(bytes).toMatchObject({ input: { buffer: '07' }, metadata: { messageId: 12 } });
  });

  it('many messages of Service Bus at once', async () => {
    const seen = await see(
      'busQueueMany',
      { collectionString: { string: ['{"n":1}', 'two', ''] } },
      {
        MessageIdArray: { collectionString: { string: ['a', 'b', 'c'] } },
        SequenceNumberArray: json([1, 2, 3]),
        DeliveryCountArray: json([1, 1, 4]),
        ApplicationPropertiesArray: json([{ A: 1 }, {}, { b: 'x' }]),
      },
    );
    expect(seen).toMatchObject({
      input: [{ n: 1 }, 'two', ''],
      metadata: {
        messageIdArray: ['a', 'b', 'c'],
        sequenceNumberArray: [1, 2, 3],
        deliveryCountArray: [1, 1, 4],
        applicationPropertiesArray: [{ a: 1 }, {}, { b: 'x' }],
      },
    });
    const binary = await see('busQueueMany', { collectionBytes: { bytes: [Buffer.from([1]), Buffer.alloc(0)] } });
    expect(binary).toMatchObject({ input: [{ buffer: '01' }, { buffer: '' }] });
  });

  it('one event of an event hub, or many', async () => {
    const one = await see('hub', json({ temperature: 20 }), {
      PartitionContext: json({ FullyQualifiedNamespace: 'n', EventHubName: 'h', ConsumerGroup: 'g', PartitionId: '0' }),
      PartitionKey: string('p'),
      Offset: string('4294967296'),
      SequenceNumber: json(3),
      EnqueuedTimeUtc: json('2030-01-01T00:00:00Z'),
      Properties: json({ Kind: 'reading' }),
      SystemProperties: json({ SequenceNumber: 3, Offset: '4294967296' }),
    });
    expect(one).toMatchObject({
      input: { temperature: 20 },
      metadata: {
        partitionContext: { fullyQualifiedNamespace: 'n', eventHubName: 'h', consumerGroup: 'g', partitionId: '0' },
        offset: 4_294_967_296,
        sequenceNumber: 3,
        properties: { kind: 'reading' },
        systemProperties: { sequenceNumber: 3, offset: '4294967296' },
      },
    });
    const many = await see(
      'hubMany',
      { collectionString: { string: ['{"a":1}', '{"a":2}'] } },
      {
        PartitionKeyArray: json([null, 'k']),
        OffsetArray: { collectionString: { string: ['0', '48'] } },
        SequenceNumberArray: json([0, 1]),
        PropertiesArray: json([{ Kind: 'a' }, {}]),
      },
    );
    expect(many).toMatchObject({
      input: [{ a: 1 }, { a: 2 }],
      metadata: {
        partitionKeyArray: [null, 'k'],
        offsetArray: [0, 48],
        sequenceNumberArray: [0, 1],
        propertiesArray: [{ kind: 'a' }, {}],
      },
    });
  });

  it.each([
    [
      'grid',
      json({ id: '1', eventType: 'Created', data: { Url: 'u' } }),
      { id: '1', eventType: 'Created', data: { Url: 'u' } },
    ],
    ['cosmos', json([{ id: '1', _ts: 5 }]), [{ id: '1', _ts: 5 }]],
    ['warmup', json({}), {}],
    ['sql', json([{ Operation: 0, Item: { Id: 1 } }]), [{ Operation: 0, Item: { Id: 1 } }]],
    ['mySql', json([{ Operation: 0, Item: { Id: 1 } }]), [{ Operation: 0, Item: { Id: 1 } }]],
    [
      'pubSub',
      json({ connectionContext: { Hub: 'chat' }, data: 'hi' }),
      { connectionContext: { Hub: 'chat' }, data: 'hi' },
    ],
    ['connector', json({ body: [1] }), { body: [1] }],
    ['generic', string('kafka'), 'kafka'],
    ['genericByOtherName', { bytes: Buffer.from([1]) }, { buffer: '01' }],
    ['mcpResource', json({ uri: 'file://readme' }), { uri: 'file://readme' }],
  ] as const)('an event of another kind as it was sent: %s', async (name, data, expected) => {
    expect((await see(name, data))['input']).toEqual(expected);
  });

  it('a prompt, and answers a tool in the form of its protocol', async () => {
    const prompt = await see('mcpPrompt', json({ name: 'greet', arguments: { who: 'you', times: 2 } }));
    expect(prompt['input']).toEqual({ name: 'greet', arguments: { who: 'you', times: '2' } });
    const tool = await everywhere(({ response }) => response.returnValue?.string, 'mcpTool', {
      data: string('{"name":"add","arguments":{"a":1}}'),
    });
    const { type, content } = JSON.parse(tool ?? '') as { type: string; content: string };
    expect(type).toBe('text');
    const { text } = JSON.parse(content) as { text: string };
    expect(JSON.parse(text)).toMatchObject({ input: { name: 'add', arguments: { a: 1 } } });
  });

  it('a timer in camel case, and no metadata beside it', async () => {
    const seen = await see(
      'timer',
      json({
        Schedule: { AdjustForDST: true },
        ScheduleStatus: { Last: 'l', Next: 'n', LastUpdated: 'u' },
        IsPastDue: false,
      }),
      { TimerTrigger: string('x') },
    );
    expect(seen).toMatchObject({
      input: {
        schedule: { adjustForDST: true },
        scheduleStatus: { last: 'l', next: 'n', lastUpdated: 'u' },
        isPastDue: false,
      },
      metadata: '(undefined)',
    });
    const first = await see(
      'timer',
      json({ Schedule: { AdjustForDST: false }, ScheduleStatus: null, IsPastDue: true }),
    );
    expect(first).toMatchObject({ input: { scheduleStatus: null, isPastDue: true } });
  });

  it('which attempt it is and what the last one failed of', async () => {
    const retryContext = { retryCount: 1, maxRetryCount: 3, exception: { message: 'm', stackTrace: 's', source: 'o' } };
    const traceContext = { traceParent: '00-0af7-b7ad-01', traceState: 'a=1', attributes: { ProcessId: '1' } };
    const seen = await everywhere(jsonOf, 'retriedFixed', { data: json({}), more: { retryContext, traceContext } });
    expect(seen).toMatchObject({ retry: retryContext, trace: traceContext });
    const begun = await everywhere(jsonOf, 'retriedFixed', {
      data: json({}),
      more: { retryContext: { retryCount: 0, maxRetryCount: 3 } },
    });
    expect(begun['retry']).toEqual({ retryCount: 0, maxRetryCount: 3 });
  });

  it.each([
    ['an empty text', string(''), ''],
    ['a number that no number can hold', string('12345678901234567890'), 12_345_678_901_234_567_000],
    ['digits that are no number', string('007'), '007'],
    ['a text with quotes', string('"quoted"'), 'quoted'],
    ['null as a text', string('null'), null],
    ['null', json(null), null],
    ['a fraction', { double: 0.5 }, 0.5],
    ['fractions', { collectionDouble: { double: [1, 2.5] } }, [1, 2.5]],
    ['a stream', { stream: Buffer.from([3]) }, { buffer: '03' }],
    ['nothing', {}, '(undefined)'],
  ] as const)('%s as the library makes it of that', async (_, data, expected) => {
    expect((await see('queue', data))['input']).toEqual(expected);
  });

  it('numbers where the official worker shows objects: integers, alone and many', async () => {
    const values = async (data: TypedDataInit): Promise<unknown> => {
      const done = await shipped.call('queue', { data });
      return jsonOf(done)['input'];
    };
    for (let round = 0; round < 2; round += 1) {
      expect(await values({ int: -5 })).toBe(-5);
      expect(await values({ collectionSint64: { sint64: [1, -2] } })).toEqual([1, -2]);
    }
  });

  it('no argument but the context where the host sends no input', async () => {
    expect(await see('queue', undefined)).toMatchObject({ args: 1, input: '(undefined)' });
  });
});
