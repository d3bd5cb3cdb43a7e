import type { RpcFunctionMetadata } from '@drover/function-rpc';
import { describe, expect, it } from 'vitest';
import { toFunctionDefinitions, type DeclaredFunction, type MetadataContext } from './function-metadata.js';
import { metadataOf } from './metadata.test.fixture.js';
import { Settings } from './settings.js';

const queueTrigger = {
  name: 'item',
  type: 'queueTrigger',
  direction: 'in',
  queueName: 'orders',
  connection: 'Storage',
};
const http = { name: '$return', type: 'http', direction: 'out' };

function read(
  functions: readonly (RpcFunctionMetadata | DeclaredFunction)[],
  context: Partial<Omit<MetadataContext, 'settings'>> & { settings?: Record<string, string> } = {},
) {
  const declared = functions.map((one) => ('metadata' in one ? one : { metadata: one, file: undefined }));
  const settings = new Settings(context.settings ?? {});
  return toFunctionDefinitions(declared, { retry: undefined, only: undefined, ...context, settings });
}
const problemOf = (...args: Parameters<typeof read>) =>
  read(...args)
    .problems.map(({ problem }) => problem)
    .join('\n');

describe('toFunctionDefinitions', () => {
  it('sorts bindings into trigger, inputs, outputs and return', () => {
    const queue = { name: 'out1', type: 'queue', direction: 'out', queueName: 'done' };
    const blob = { name: 'blob1', type: 'blob', direction: 'in', path: 'x/y' };
    const { functions, problems } = read([metadataOf('work', [blob, queue, http, queueTrigger])]);
    expect(problems).toEqual([]);
    expect(functions).toMatchObject([
      {
        id: 'work',
        name: 'work',
        trigger: { name: 'item', type: 'queueTrigger', direction: 'in', options: { queueName: 'orders' } },
        inputs: [{ name: 'blob1' }],
        outputs: [{ name: 'out1' }],
        returns: { name: '$return' },
        isDisabled: false,
        retry: undefined,
      },
    ]);
  });

  it('keeps options it does not know', () => {
    const { functions } = read([metadataOf('work', [{ ...queueTrigger, batchSize: 1, mine: { a: [1] } }])]);
    expect(functions[0]?.trigger.options).toMatchObject({ batchSize: 1, mine: { a: [1] } });
  });

  it('takes the short form of bindings from a worker that sends no other', () => {
    const metadata = { ...metadataOf('work', [queueTrigger]), rawBindings: [] };
    expect(read([metadata]).functions).toMatchObject([{ trigger: { name: 'item', type: 'queueTrigger' } }]);
  });

  it.each(['', '1a', 'a b', '_a', 'host', 'HOST', 'a'.repeat(129), 'a.b', 'é'])('refuses the name "%s"', (name) => {
    expect(problemOf([metadataOf(name, [queueTrigger])])).toContain('name is invalid');
  });

  it.each(['a', 'A-b_9', 'a'.repeat(128)])('takes the name "%s"', (name) => {
    expect(problemOf([metadataOf(name, [queueTrigger])])).toBe('');
  });

  it.each([
    [[], 'it has no bindings'],
    [[http], 'it has no trigger'],
    [[queueTrigger, { ...queueTrigger, name: 'other' }], 'two triggers, "item" and "other"'],
    [[queueTrigger, { ...http, name: 'ITEM' }], 'two bindings named "ITEM"'],
    [[{ ...queueTrigger, name: '1x' }], 'has the name "1x"'],
    [[{ ...queueTrigger, name: 'a_b' }], 'has the name "a_b"'],
    [[{ ...queueTrigger, name: undefined }], 'has the name undefined'],
    [[{ ...queueTrigger, type: undefined }], 'has no type'],
    [[{ ...queueTrigger, direction: 'out' }], 'must have the direction "in"'],
    [[{ ...queueTrigger, direction: 'up' }], 'has the direction "up"'],
    [[queueTrigger, { ...http, direction: 'in' }], '"$return" must have the direction "out"'],
    [[{ ...queueTrigger, dataType: 'xml' }], 'has the dataType "xml"'],
    [['"text"'], 'not a JSON object'],
    [['{'], 'not valid JSON'],
  ])('refuses bindings %j', (bindings, problem) => {
    expect(problemOf([metadataOf('work', bindings)])).toContain(problem);
  });

  it('skips what is not good, says file and function, and keeps the rest', () => {
    const { functions, problems } = read([
      metadataOf('good', [queueTrigger]),
      { ...metadataOf('bad', []), scriptFile: 'dist/bad.js', directory: '/app' },
      { metadata: metadataOf('worse', []), file: 'worse/function.json' },
      { ...metadataOf('late', []), scriptFile: 'unknown' },
    ]);
    expect(functions.map(({ name }) => name)).toEqual(['good']);
    expect(problems.map(({ functionName, file }) => [functionName, file])).toEqual([
      ['bad', 'dist/bad.js'],
      ['worse', 'worse/function.json'],
      ['late', undefined],
    ]);
  });

  it('refuses the second of two names that differ only in case', () => {
    const { functions, problems } = read([metadataOf('Work', [queueTrigger]), metadataOf('work', [queueTrigger])]);
    expect(functions.map(({ name }) => name)).toEqual(['Work']);
    expect(problems[0]?.problem).toContain('the same name, "Work"');
  });

  it('puts settings in, and names one that is missing', () => {
    const trigger = { ...queueTrigger, queueName: '%Prefix%-orders', route: 'sale/50%off%' };
    const { functions } = read([metadataOf('work', [trigger])], { settings: { PREFIX: 'eu' } });
    expect(functions[0]?.trigger.options).toMatchObject({ queueName: 'eu-orders', route: 'sale/50%off%' });
    expect(problemOf([metadataOf('work', [trigger])])).toBe(
      'binding "item": its queueName "%Prefix%-orders" needs the setting Prefix, which is not set',
    );
  });

  it('runs only those that host.json lists, if it lists any', () => {
    const all = [metadataOf('one', [queueTrigger]), metadataOf('two', [queueTrigger])];
    expect(read(all, { only: ['TWO'] }).functions.map(({ name }) => name)).toEqual(['two']);
    expect(read(all, { only: [] }).functions).toHaveLength(2);
  });

  it('reports what the worker refused', () => {
    const exception = { message: 'no such file', stackTrace: '', source: '', isUserException: false, type: '' };
    const metadata = { ...metadataOf('work', [queueTrigger]), status: { result: '', status: 0, logs: [], exception } };
    expect(problemOf([metadata])).toBe('the worker rejected it: no such file');
  });
});

describe('retry policies', () => {
  const withRetry = (retryOptions: RpcFunctionMetadata['retryOptions'], retry?: MetadataContext['retry']) =>
    read([{ ...metadataOf('work', [queueTrigger]), retryOptions }], { retry });

  it('are exponential when the wire has no strategy, since that is the zero of the enum', () => {
    const retryOptions = {
      maxRetryCount: 3,
      retryStrategy: 0,
      minimumInterval: { seconds: 4, nanos: 500_000_000 },
      maximumInterval: { seconds: 60n, nanos: 0 },
    };
    expect(withRetry(retryOptions).functions[0]?.retry).toEqual({
      strategy: 'exponentialBackoff',
      maxRetries: 3,
      minimumMs: 4_500,
      maximumMs: 60_000,
    });
  });

  it('may be fixed, without end, and without delay', () => {
    const retryOptions = { maxRetryCount: -1, retryStrategy: 1, delayInterval: { seconds: 0, nanos: 0 } };
    expect(withRetry(retryOptions).functions[0]?.retry).toEqual({ strategy: 'fixedDelay', maxRetries: -1, delayMs: 0 });
  });

  it('of the function win over that of host.json, which holds for all others', () => {
    const host = { strategy: 'fixedDelay', maxRetries: 9, delayMs: 1 } as const;
    const own = { maxRetryCount: 0, retryStrategy: 1, delayInterval: { seconds: 1, nanos: 0 } };
    expect(withRetry(own, host).functions[0]?.retry).toMatchObject({ maxRetries: 0 });
    expect(withRetry(undefined, host).functions[0]?.retry).toBe(host);
  });

  it.each([
    [{ maxRetryCount: 3, retryStrategy: 0 }, 'lacks minimumInterval'],
    [{ maxRetryCount: 3, retryStrategy: 1 }, 'lacks delayInterval'],
    [{ maxRetryCount: 3, retryStrategy: 7 }, 'strategy 7 is unknown'],
    [{ maxRetryCount: -2, retryStrategy: 1, delayInterval: { seconds: 1, nanos: 0 } }, '-1 for no limit'],
    [
      {
        maxRetryCount: 1,
        retryStrategy: 0,
        minimumInterval: { seconds: 9, nanos: 0 },
        maximumInterval: { seconds: 1, nanos: 0 },
      },
      'nor longer than',
    ],
  ])('are refused when they make no sense: %j', (retryOptions, problem) => {
    expect(withRetry(retryOptions).problems[0]?.problem).toContain(problem);
  });
});

describe('disabled functions', () => {
  const isDisabled = (settings: Record<string, string>, disabled?: boolean | string) =>
    read([{ metadata: metadataOf('work', [queueTrigger]), file: undefined, disabled }], { settings }).functions[0]
      ?.isDisabled;

  it.each([
    [{}, undefined, false],
    [{ 'AzureWebJobs.work.Disabled': 'true' }, undefined, true],
    [{ 'AzureWebJobs.WORK.Disabled': '1' }, undefined, true],
    [{ AzureWebJobs_work_Disabled: 'True' }, undefined, true],
    [{ 'AzureWebJobs.work.Disabled': 'false', AzureWebJobs_work_Disabled: 'true' }, undefined, false],
    [{ 'AzureWebJobs.other.Disabled': 'true' }, undefined, false],
    [{}, true, true],
    [{ 'AzureWebJobs.work.Disabled': 'false' }, true, false],
    [{ OFF: '1' }, 'OFF', true],
    [{ OFF: '1' }, '%OFF%', true],
    [{}, 'OFF', false],
  ])('with settings %j and function.json saying %s: %s', (settings, disabled, expected) => {
    expect(isDisabled(settings, disabled)).toBe(expected);
  });
});
