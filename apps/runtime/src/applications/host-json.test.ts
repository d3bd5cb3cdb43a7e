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
        serviceBus: {
          autoCompleteMessages: true,
          maxConcurrentSessions: 8,
          maxConcurrentCallsPerSession: 1,
          prefetchCount: 0,
          maxAutoLockRenewalDurationMs: 300_000,
          maxMessageBatchSize: 1_000,
          minMessageBatchSize: 1,
          maxBatchWaitTimeMs: 30_000,
        },
        eventHubs: {
          maxEventBatchSize: 100,
          minEventBatchSize: 1,
          maxWaitTimeMs: 60_000,
          batchCheckpointFrequency: 1,
          prefetchCount: 300,
          loadBalancingUpdateIntervalMs: 30_000,
          partitionOwnershipExpirationIntervalMs: 120_000,
          initialOffsetOptions: { type: 'fromStart' },
        },
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

  it.each(['00:00:00.5', '10', '-00:00:01', '5 min', 300])('refuses the function timeout %s or takes days', (text) => {
    const { hostJson, problems } = read({ functionTimeout: text });
    if (text === '10') expect(hostJson.functionTimeoutMs).toBe(864_000_000);
    else expect(problems).toHaveLength(1);
  });

  it.each([
    [{ queues: { batchSize: 4 } }, 'queues has no effect here: it belongs at extensions.queues'],
    [{ Queues: {} }, 'Queues has no effect here: it belongs at extensions.queues'],
    [{ http: {} }, 'http has no effect here: it belongs at extensions.http'],
    [{ eventHub: {} }, 'belongs at extensions.eventHubs'],
    [{ batchSize: 4 }, 'belongs at extensions.queues.batchSize or aggregator.batchSize'],
    [{ extensions: { queues: { functionTimeout: '00:01:00' } } }, 'belongs at functionTimeout'],
    [{ applicationInsights: {} }, 'belongs at logging.applicationInsights'],
    [{ functionTimeOuts: '00:01:00' }, 'did you mean functionTimeout?'],
    [
      { extensions: { queues: { bachSize: 4 } } },
      'extensions.queues.bachSize is not an option; did you mean batchSize?',
    ],
    [{ extensions: { queues: { wholeOtherThing: 4 } } }, 'is not an option; known here: batchSize'],
    [{ extensions: { serviceBus: { messageHandlerOptions: {} } } }, 'belongs at extensions.serviceBus itself'],
  ])('says where a misplaced or unknown name belongs: %j', (value, problem) => {
    const result = read(value);
    expect(result.problems.every(({ severity }) => severity === 'error')).toBe(true);
    expect(said(result).join('\n')).toContain(problem);
  });

  it('leaves sections of extensions it does not have alone, and notes of people', () => {
    expect(said(read({ $schema: 'x', '//': 'note', extensions: { durableTask: { hubName: 'x' } } }))).toEqual([
      'warning: extensions.durableTask is not known here and has no effect',
    ]);
  });

  it.each([
    [
      { extensions: { queues: { batchSize: 33 } } },
      'extensions.queues.batchSize must be a whole number from 1 to 32, not 33',
    ],
    [{ extensions: { queues: { batchSize: 1.5 } } }, 'must be a whole number'],
    [{ extensions: { queues: { messageEncoding: 'hex' } } }, 'must be "base64" or "none", not "hex"'],
    [{ extensions: { queues: { maxPollingInterval: '00:00:00.05' } } }, 'from "00:00:00.100" to "1.00:00:00"'],
    [{ extensions: { queues: [] } }, 'extensions.queues must be an object'],
    [{ retry: { strategy: 'fixedDelay', maxRetryCount: 3 } }, 'retry.delayInterval must be'],
    [{ retry: { strategy: 'sometimes', maxRetryCount: 3 } }, 'retry.strategy must be'],
    [
      { extensions: { http: { customHeaders: { 'x-a': 'b\r\nc: d' } } } },
      'customHeaders must be an object of valid HTTP header names',
    ],
    [{ functions: 'all' }, 'functions must be a list'],
  ])('refuses a value that is not good: %j', (value, problem) => {
    expect(said(read(value)).join('\n')).toContain(problem);
  });

  it('finds all mistakes at once and keeps the defaults for them', () => {
    const { hostJson, problems } = read({
      queues: {},
      functionTimeout: 'x',
      extensions: { http: { hsts: { maxAge: 1 } } },
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
