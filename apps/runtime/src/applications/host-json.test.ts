import { describe, expect, it } from 'vitest';
import { parseHostJson } from './host-json.js';

const read = (value: object, environment: Record<string, string> = {}) =>
  parseHostJson(JSON.stringify({ version: '2.0', ...value }), environment);
const said = ({ problems }: { problems: readonly { severity: string; problem: string }[] }) =>
  problems.map(({ severity, problem }) => `${severity}: ${problem}`);

describe('parseHostJson', () => {
  it('has the defaults of the original', () => {
    const { hostJson, problems } = read({});
    expect(problems).toEqual([]);
    expect(hostJson).toMatchObject({
      functionTimeoutMs: 1_800_000,
      retry: undefined,
      functions: undefined,
      sendCanceledInvocationsToWorker: false,
      singleton: { lockPeriodMs: 15_000, listenerLockPeriodMs: 60_000, lockAcquisitionPollingIntervalMs: 5_000 },
      healthMonitor: {
        healthCheckIntervalMs: 10_000,
        healthCheckWindowMs: 120_000,
        healthCheckThreshold: 6,
        counterThreshold: 0.8,
      },
      extensions: {
        http: { routePrefix: 'api', maxOutstandingRequests: undefined, maxConcurrentRequests: undefined },
        queues: {}, // the defaults are those of the queue source
        eventHubs: {}, // the defaults are those of the event hubs source
        serviceBus: {}, // as are those of the Service Bus source
      },
    });
  });

  it('only warns when there is no file', () => {
    const { hostJson, problems } = parseHostJson(undefined, {});
    expect(hostJson.functionTimeoutMs).toBe(1_800_000);
    expect(problems).toEqual([
      { severity: 'warning', file: 'host.json', problem: 'is missing, so all options have their defaults' },
    ]);
  });

  it.each([
    ['{}', 'version is required: add "version": "2.0"'],
    ['{"version":"3.0"}', 'must be "2.0", not "3.0"'],
    ['{"version":2}', 'must be "2.0", not 2'],
    ['[]', 'must be an object'],
    ['{"version":"2.0"', 'is not valid JSON'],
  ])('refuses %s', (text, problem) => {
    expect(said(parseHostJson(text, {})).join('\n')).toContain(problem);
  });

  it.each([
    ['00:10:00', 600_000],
    ['-1', undefined],
    [-1, undefined],
    ['1.00:00:00', 86_400_000],
  ])('reads the function timeout %s as %s ms', (functionTimeout, expected) => {
    expect(read({ functionTimeout }).hostJson.functionTimeoutMs).toBe(expected);
  });

  it.each(['00:00:00.5', '-00:00:01', '5 min', {}])('refuses the function timeout %j', (functionTimeout) => {
    expect(said(read({ functionTimeout }))).toEqual([expect.stringMatching(/^error: functionTimeout must be/)]);
  });

  it('takes a bare number as days, as Azure does, and says so where it is not text', () => {
    expect(read({ functionTimeout: '10' })).toMatchObject({
      problems: [],
      hostJson: { functionTimeoutMs: 864_000_000 },
    });
    const numeric = read({ functionTimeout: 10 });
    expect(numeric.hostJson.functionTimeoutMs).toBe(864_000_000);
    expect(said(numeric)).toEqual(['warning: functionTimeout is read as 10 days: write a duration as "hh:mm:ss"']);
  });

  it.each([
    [{ queues: { batchSize: 4 } }, 'queues (it belongs at extensions.queues)'],
    [{ Queues: {} }, 'Queues (it belongs at extensions.queues)'],
    [{ http: {} }, 'http (it belongs at extensions.http)'],
    [{ eventHub: {} }, 'eventHub (it belongs at extensions.eventHubs)'],
    [{ batchSize: 4 }, 'batchSize (it belongs at extensions.queues.batchSize or aggregator.batchSize)'],
    [
      { extensions: { queues: { functionTimeout: '00:01:00' } } },
      'extensions.queues.functionTimeout (it belongs at functionTimeout)',
    ],
    [{ applicationInsights: {} }, 'applicationInsights (it belongs at logging.applicationInsights)'],
    [{ functionTimeOuts: '00:01:00' }, 'functionTimeOuts (did you mean functionTimeout?)'],
    [{ extensions: { queues: { bachSize: 4 } } }, 'extensions.queues.bachSize (did you mean batchSize?)'],
    [{ extensions: { queues: { wholeOtherThing: 4 } } }, 'extensions.queues.wholeOtherThing'],
    [{ extensions: { http: { hsts: { wholeOtherThing: [1] } } } }, 'extensions.http.hsts.wholeOtherThing'],
    [{ extensions: { ofTheFuture: { x: 1 } } }, 'extensions.ofTheFuture'],
    [{ wholeOtherThing: 'x' }, 'wholeOtherThing'],
    [{ mcp: { enabled: true } }, 'mcp (it belongs at extensions.mcp)'],
  ])('ignores an unknown name at any depth, as Azure does, and says where it belongs: %j', (value, named) => {
    expect(said(read(value))).toEqual([`warning: has unknown options, which are ignored: ${named}`]);
  });

  it('names all unknown options in one warning of bounded length', () => {
    expect(said(read({ one: 1, extensions: { queues: { two: 2 } }, aggregator: { three: 3 } }))).toEqual([
      'warning: has unknown options, which are ignored: one, extensions.queues.two, aggregator.three',
    ]);
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`x${index}`, index]));
    expect(said(read(many))).toEqual([expect.stringMatching(/x0, .*x19 and 4980 more$/)]);
  });

  it('accepts every section and extension of Azure, and notes of people', () => {
    const sections = ['logging', 'extensionBundle', 'managedDependency', 'customHandler', 'concurrency', 'singleton'];
    const extensions = ['blobs', 'cosmosDB', 'durableTask', 'eventHubs', 'kafka', 'sendGrid', 'serviceBus', 'signalR'];
    const empty = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, {}]));
    const file = { ...empty(sections), extensions: empty(extensions), telemetryMode: 'OpenTelemetry' };
    expect(said(read({ ...file, $schema: 'x', '//': 'note' }))).toEqual([]);
  });

  it.each([
    [{ healthMonitor: { counterThreshold: 7 } }, 'healthMonitor.counterThreshold must be'],
    [{ singleton: { lockPeriod: '00:00:01' } }, 'singleton.lockPeriod must be'],
    [{ singleton: 'off' }, 'singleton must be an object and is ignored'],
    [{ watchDirectories: 'shared' }, 'watchDirectories must be a list and is ignored'],
    [{ functions: 'all' }, 'functions must be a list and is ignored'],
    [
      { extensions: { queues: { maxPollingInterval: 2_000 } } },
      'extensions.queues.maxPollingInterval is a time span of 2000 d; "1.00:00:00" is used',
    ],
    [{ extensions: { queues: [] } }, 'extensions.queues must be an object and is ignored'],
    [{ extensions: 'none' }, 'extensions must be an object and is ignored'],
  ])('only warns of a wrong value that Azure ignores, or on which nothing here depends: %j', (value, problem) => {
    expect(said(read(value))).toEqual([expect.stringContaining(`warning: ${problem}`)]);
  });

  it('reads numbers and flags as text where text is wanted, as Azure does', () => {
    const { hostJson, problems } = read({ functions: ['one', 2], extensions: { http: { routePrefix: 2 } } });
    expect(problems).toEqual([]);
    expect(hostJson).toMatchObject({ functions: ['one', '2'], extensions: { http: { routePrefix: '2' } } });
  });

  it.each([
    [
      { extensions: { queues: { batchSize: 33 } } },
      'extensions.queues.batchSize must be a whole number from 1 to 32, not 33',
    ],
    [{ extensions: { queues: { batchSize: 1.5 } } }, 'must be a whole number'],
    [
      { extensions: { serviceBus: { maxConcurrentCalls: 'many' } } },
      'extensions.serviceBus.maxConcurrentCalls must be',
    ],
    [{ extensions: { queues: { messageEncoding: 'hex' } } }, 'must be "base64" or "none", not "hex"'],
    [{ extensions: { queues: { maxPollingInterval: '00:00:00.05' } } }, 'from "00:00:00.100" to "1.00:00:00"'],
    [{ retry: { strategy: 'fixedDelay', maxRetryCount: 3 } }, 'retry.delayInterval must be'],
    [{ retry: { strategy: 'sometimes', maxRetryCount: 3 } }, 'retry.strategy must be'],
    [
      { extensions: { http: { customHeaders: { 'x-a': 'b\r\nc: d' } } } },
      'customHeaders must be an object of valid HTTP header names',
    ],
    [{ functions: [{}] }, 'functions must be a list'],
  ])('refuses a value that Azure refuses, too: %j', (value, problem) => {
    expect(said(read(value))).toEqual([expect.stringMatching(/^error: /)]);
    expect(said(read(value)).join('\n')).toContain(problem);
  });

  it('finds all mistakes at once and keeps the defaults for them', () => {
    const { hostJson, problems } = read({
      queues: {},
      functionTimeout: 'x',
      extensions: { http: { hsts: { maxAge: 'y' } } },
    });
    expect(problems).toHaveLength(3);
    expect(hostJson.functionTimeoutMs).toBe(1_800_000);
  });

  it('reads retry policies, unlimited requests and lists', () => {
    const { hostJson, problems } = read({
      retry: {
        strategy: 'exponentialBackoff',
        maxRetryCount: -1,
        minimumInterval: '00:00:05',
        maximumInterval: '00:15:00',
      },
      functions: ['one'],
      extensions: { http: { maxOutstandingRequests: -1, maxConcurrentRequests: 5, customHeaders: { 'X-A': 'b' } } },
    });
    expect(problems).toEqual([]);
    expect(hostJson).toMatchObject({
      retry: { strategy: 'exponentialBackoff', maxRetries: -1, minimumMs: 5_000, maximumMs: 900_000 },
      functions: ['one'],
      extensions: {
        http: { maxOutstandingRequests: undefined, maxConcurrentRequests: 5, customHeaders: { 'X-A': 'b' } },
      },
    });
  });
});

describe('overrides by the environment', () => {
  it('replace any value, whatever the case, and whether or not the file has it', () => {
    const { hostJson, problems } = read(
      { extensions: { Queues: { BatchSize: 4 } } },
      {
        AzureFunctionsJobHost__extensions__queues__batchSize: '8',
        AZUREFUNCTIONSJOBHOST__EXTENSIONS__HTTP__ROUTEPREFIX: '',
        AzureFunctionsJobHost__functionTimeout: '00:01:00',
        AzureFunctionsJobHost__functions__0: 'first',
        AzureFunctionsJobHost__functions__1: 'second',
        AzureFunctionsJobHost__sendCanceledInvocationsToWorker: 'True',
        'AzureFunctionsJobHost:healthMonitor:enabled': 'false',
        Unrelated__functionTimeout: '00:00:01',
      },
    );
    expect(problems).toEqual([]);
    expect(hostJson).toMatchObject({
      functionTimeoutMs: 60_000,
      functions: ['first', 'second'],
      sendCanceledInvocationsToWorker: true,
      healthMonitor: { enabled: false },
      extensions: { queues: { batchSize: 8 }, http: { routePrefix: '' } },
    });
  });

  it('are named when what they say is not good', () => {
    const result = read({}, { AzureFunctionsJobHost__extensions__queues__batchSize: 'many' });
    expect(said(result)).toEqual([
      'error: extensions.queues.batchSize must be a whole number from 1 to 32, not "many" (set by AzureFunctionsJobHost__extensions__queues__batchSize)',
    ]);
  });

  it('cannot reach into prototypes', () => {
    const { hostJson } = read({}, { AzureFunctionsJobHost____proto____polluted: 'yes' });
    expect(hostJson.functionTimeoutMs).toBe(1_800_000);
    expect({}).not.toHaveProperty('polluted');
  });
});
