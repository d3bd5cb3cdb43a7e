import { FunctionResponse, FunctionSpec, FunctionRetryPolicy, type TenantId } from '@drover/contracts';
import { Secret } from '@drover/service-kit';
import { Ajv } from 'ajv';
import formatsPlugin from 'ajv-formats';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toFunctionResponse } from '../api/answers/function-response.js';
import { applyPatch, settleSpec, specIn, toDefinition } from './resolve-function.js';

const defaults = { timeoutMs: 30_000, queueSize: 100, concurrency: 4, maxRetries: 3 };
const registration = { tenantId: 'a' as TenantId, generation: 5, revision: 1, env: {} };
const define = (spec: FunctionSpec) => toDefinition(settleSpec(spec, defaults), registration);
const endpointUrl = 'http://pool.test:8080/invoke';

describe('the mode of a function', () => {
  it.each<[string, Omit<FunctionSpec, 'name'>, object]>([
    ['POOL', { executionMode: 'POOL', endpointUrl }, { mode: 'POOL', requestedMode: 'POOL', endpointUrl }],
    ['EXTERNAL', { executionMode: 'EXTERNAL', endpointUrl }, { mode: 'POOL', requestedMode: 'EXTERNAL', endpointUrl }],
    ['none, with endpointUrl', { endpointUrl }, { mode: 'POOL', requestedMode: 'POOL', endpointUrl }],
    ['none, with image', { image: 'i' }, { mode: 'REMOTE', requestedMode: 'REMOTE' }],
    ['none, with command', { command: ['run'] }, { mode: 'REMOTE', requestedMode: 'REMOTE' }],
    ['REMOTE', { executionMode: 'REMOTE', image: 'i', endpointUrl }, { mode: 'REMOTE', requestedMode: 'REMOTE' }],
    ['LOCAL', { executionMode: 'LOCAL' }, { mode: 'LOCAL', handler: 'f.js' }],
    ['LOCAL, with handler', { executionMode: 'LOCAL', handler: 'a/b.c.mjs' }, { mode: 'LOCAL', handler: 'a/b.c.mjs' }],
    ['APP', { executionMode: 'APP' }, { mode: 'APP', appFunction: { name: 'f' } }],
    ['APP of any application', { executionMode: 'APP', appFunction: 'g' }, { mode: 'APP', appFunction: { name: 'g' } }],
    [
      'APP of one application',
      { executionMode: 'APP', appFunction: 'shop/order' },
      { mode: 'APP', appFunction: { application: 'shop', name: 'order' } },
    ],
  ])('is clear for %s, and nothing is said to be missing', (_, spec, expected) => {
    const definition = define({ name: 'f', ...spec });
    expect(definition).toMatchObject(expected);
    expect(definition).not.toHaveProperty('degradationReason');
  });

  it.each<[Omit<FunctionSpec, 'name'>, string, RegExp]>([
    [{ endpointUrl }, 'POOL', /managed replicas are not available.*endpointUrl/],
    [{ image: 'i' }, 'REMOTE', /managed replicas are not available.*a job of its own/],
  ])('is the nearest thing for DEPLOYMENT with %j, and says so', (spec, mode, reason) => {
    const definition = define({ name: 'f', executionMode: 'DEPLOYMENT', ...spec });
    expect(definition).toMatchObject({ mode, requestedMode: 'DEPLOYMENT' });
    expect(definition.degradationReason).toMatch(reason);
  });

  it('takes from the specification only what it means in that mode', () => {
    const definition = define({ name: 'f', executionMode: 'LOCAL', endpointUrl, appFunction: 'x/y' });
    expect(definition).not.toHaveProperty('endpointUrl');
    expect(definition).not.toHaveProperty('appFunction');
    expect(definition.spec.endpointUrl).toBe(endpointUrl);
  });
});

describe('numbers that are not given', () => {
  it('come from the settings at registration, and stay when the settings change', () => {
    const settled = settleSpec({ name: 'f', endpointUrl, maxRetries: 0, retry: { delayMs: 99 } }, defaults);
    expect(settled).toMatchObject({ timeoutMs: 30_000, queueSize: 100, concurrency: 4, maxRetries: 0 });
    expect(settled.retry).toEqual({ delayMs: 99, windowMs: 21_600_000 });
    expect(settleSpec(settled, { timeoutMs: 1, queueSize: 1, concurrency: 1, maxRetries: 1 })).toEqual(settled);
  });

  it('of the retry policy grow, and those that the schema names are the same', () => {
    const { retry } = define({ name: 'f', endpointUrl });
    expect(retry).toEqual({
      handlerErrors: false,
      delayMs: 1_000,
      backOffFactor: 5,
      maxDelayMs: 300_000,
      windowMs: 21_600_000,
    });
    for (const [name, schema] of Object.entries(FunctionRetryPolicy.properties))
      if ('default' in schema) expect([name, Reflect.get(retry, name)]).toEqual([name, schema.default]);
    const stored = settleSpec({ name: 'f', endpointUrl, retry: { delayMs: 99 } }, defaults);
    expect(applyPatch(stored, { retry: {} }).retry).toEqual({ windowMs: 21_600_000 });
    expect(applyPatch(stored, { timeoutMs: 1 })).toEqual({ ...stored, timeoutMs: 1 });
  });

  it('of the retry policy replace the former defaults that older releases stored, and nothing that was chosen', () => {
    const former = { handlerErrors: true, delayMs: 10, backOffFactor: 1, maxDelayMs: 60_000 };
    const stored = (retry: typeof former & { windowMs?: number }) =>
      toDefinition({ ...settleSpec({ name: 'f', endpointUrl }, defaults), retry }, registration).retry;
    expect(stored(former)).toMatchObject({
      handlerErrors: true,
      delayMs: 1_000,
      backOffFactor: 5,
      windowMs: 21_600_000,
    });
    expect(stored({ ...former, delayMs: 20 })).toMatchObject({ delayMs: 20, backOffFactor: 1, maxDelayMs: 60_000 });
    expect(stored({ ...former, windowMs: 5 })).toEqual({ ...former, windowMs: 5 });
  });
});

describe('a specification that does not go together', () => {
  it.each<[string, Omit<FunctionSpec, 'name'>, RegExp]>([
    ['POOL without endpointUrl', { executionMode: 'POOL' }, /^endpointUrl is required in mode POOL/],
    ['EXTERNAL without endpointUrl', { executionMode: 'EXTERNAL', image: 'i' }, /^endpointUrl .*mode EXTERNAL/],
    ['REMOTE without anything to run', { executionMode: 'REMOTE' }, /^image or command is required .*REMOTE/],
    ['REMOTE with a command of nothing', { executionMode: 'REMOTE', command: [''], image: '' }, /^image or command/],
    ['DEPLOYMENT without anything', { executionMode: 'DEPLOYMENT' }, /^image or command .*DEPLOYMENT/],
    ['nothing at all', {}, /set endpointUrl .*image or command .*LOCAL or APP/],
    ['a handler without a mode', { handler: 'f.js' }, /executionMode must be LOCAL for a handler/],
    ['an appFunction without a mode', { appFunction: 'f' }, /executionMode must be APP for an appFunction/],
    ['no URL', { endpointUrl: 'pool.test' }, /^endpointUrl must be an http or https URL/],
    ['another protocol', { endpointUrl: 'file:///etc/passwd' }, /^endpointUrl must be an http or https URL/],
    ['a URL that only looks like one', { endpointUrl: 'http://' }, /^endpointUrl must be an http or https URL/],
    ['a URL without slashes', { endpointUrl: 'http:pool.test' }, /^endpointUrl must be an http or https URL/],
    ['an empty URL', { endpointUrl: '' }, /^endpointUrl must be an http or https URL/],
    ['a URL nobody needs', { executionMode: 'LOCAL', endpointUrl: 'ftp://x' }, /^endpointUrl must be an http/],
    ['a password', { endpointUrl: 'http://user:hunter2@pool.test/' }, /must not contain a user name or a password/],
    ['a user name', { endpointUrl: 'https://hunter2@pool.test/' }, /must not contain a user name or a password/],
    ['a way out', { executionMode: 'LOCAL', handler: 'a/../../b.js' }, /^handler must be a path inside/],
    ['a way around', { executionMode: 'LOCAL', handler: 'a/./b.js' }, /^handler must be a path inside/],
    ['an empty folder', { executionMode: 'LOCAL', handler: 'a//b.js' }, /^handler must be a path inside/],
    ['two slashes', { executionMode: 'APP', appFunction: 'a/b/c' }, /^appFunction must be "application\/function"/],
    ['no application', { executionMode: 'APP', appFunction: '/b' }, /^appFunction must be/],
    ['no function', { executionMode: 'APP', appFunction: 'a/' }, /^appFunction must be/],
    ['an empty appFunction', { executionMode: 'APP', appFunction: '' }, /^appFunction must be/],
    [
      'more than the limit',
      { image: 'i', resources: { requests: { cpu: 2 }, limits: { cpu: 1 } } },
      /cpu is 2, more than the limit 1/,
    ],
    [
      'more at least than at most',
      { image: 'i', scalingConfig: { minReplicas: 3, maxReplicas: 2 } },
      /minReplicas is 3, more than maxReplicas, which is 2/,
    ],
    ['offload to nowhere', { image: 'i', offload: { enabled: true } }, /^offload.targetUrl is required/],
    [
      'offload to a file',
      { image: 'i', offload: { enabled: false, targetUrl: 'x' } },
      /^offload.targetUrl must be an http/,
    ],
    [
      'half a character',
      { image: 'a\ud800', command: ['\udc00', '😀'] },
      /^image contains a lone surrogate[^;]*; command.0 contains a lone surrogate/,
    ],
    ['half a character in env', { image: 'i', env: { A: 'hunter2\ud800' } }, /^env.A contains a lone surrogate/],
    [
      'a governor upside down',
      { image: 'i', concurrencyControl: { mode: 'FIXED', minTargetInFlightPerPod: 9, maxTargetInFlightPerPod: 8 } },
      /^concurrencyControl.minTargetInFlightPerPod is 9/,
    ],
  ])('is refused for %s, in words and without repeating a secret', (_, spec, problem) => {
    const settle = () => settleSpec({ name: 'f', ...spec }, defaults);
    expect(settle).toThrow(
      expect.objectContaining({ code: 'VALIDATION_ERROR', message: expect.stringMatching(problem) }),
    );
    expect(settle).not.toThrow(/hunter2/);
  });

  it('hears of everything at once', () => {
    const spec: FunctionSpec = {
      name: 'f',
      executionMode: 'POOL',
      handler: '../x.js',
      appFunction: '/',
      resources: { requests: { memoryMiB: 2 }, limits: { memoryMiB: 1 } },
    };
    const words = ['endpointUrl', 'handler', 'appFunction', 'memoryMiB'];
    for (const word of words) expect(() => settleSpec(spec, defaults)).toThrow(word);
  });

  it('is refused in a patch, too', () => {
    const control = { mode: 'FIXED' as const, minTargetInFlightPerPod: 3, maxTargetInFlightPerPod: 2 };
    const stored = settleSpec({ name: 'f', endpointUrl }, defaults);
    expect(() => applyPatch(stored, { concurrencyControl: control })).toThrow(/minTargetInFlightPerPod is 3/);
    expect(() => applyPatch(stored, { executionMode: 'REMOTE' })).toThrow(/image or command is required/);
    expect(() => applyPatch(stored, { endpointUrl: 'ftp://x/' })).toThrow(/endpointUrl must be an http/);
  });

  it('is read from a response as it was sent', () => {
    const definition = define({ name: 'f', endpointUrl, concurrency: 7 });
    const spec = specIn('f', toFunctionResponse(definition));
    expect(define(spec)).toMatchObject({ mode: 'POOL', endpointUrl, concurrency: 7, retry: definition.retry });
    expect(spec).not.toHaveProperty('generation');
  });
});

const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const anySpec: fc.Arbitrary<FunctionSpec> = fc
  .record(
    {
      name: fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9._-]{0,62}$/),
      image: text,
      command: fc.array(text, { maxLength: 3 }),
      env: fc.dictionary(
        fc.stringMatching(/^[A-Z_]{1,9}$/),
        fc.string({ minLength: 1 }).map((value) => `hunter2${value}`),
        { maxKeys: 3 },
      ),
      timeoutMs: fc.integer({ min: 1, max: 300_000 }),
      concurrency: fc.integer({ min: 1, max: 100_000 }),
      queueSize: fc.integer({ min: 1, max: 1_000_000 }),
      maxRetries: fc.integer({ min: 0, max: 100 }),
      retry: fc.record({ delayMs: fc.nat(3_600_000), handlerErrors: fc.boolean() }, { requiredKeys: [] }),
      endpointUrl: fc.webUrl(),
      executionMode: fc.constantFrom('LOCAL', 'POOL', 'REMOTE', 'APP', 'EXTERNAL', 'DEPLOYMENT'),
      handler: fc.stringMatching(/^[a-z][a-z/]{0,9}\.js$/),
      appFunction: fc.constantFrom('f', 'a/f', 'a b/f'),
      resources: fc.record({
        requests: fc.record({ cpu: fc.constant(0.5) }),
        limits: fc.record({ cpu: fc.constantFrom(0.4, 0.5) }),
      }),
    },
    { requiredKeys: ['name'] },
  )
  .map((spec) => spec as FunctionSpec); // the names of the modes are the contract's

describe('any specification', () => {
  it('is refused in words, or becomes a definition that a row holds and an answer shows, without values of env', () => {
    const isResponse = formatsPlugin.default(new Ajv()).compile(FunctionResponse);
    const isSpec = formatsPlugin.default(new Ajv()).compile(FunctionSpec);
    let taken = 0;
    fc.assert(
      fc.property(anySpec, (spec) => {
        let settled;
        try {
          settled = settleSpec(spec, defaults);
        } catch (error) {
          expect(error).toMatchObject({ code: 'VALIDATION_ERROR' });
          expect(String(error)).not.toContain('hunter2');
          return;
        }
        taken += 1;
        expect(settled).not.toHaveProperty('env');
        expect(isSpec(settled)).toBe(true);
        expect(settleSpec(settled, defaults)).toEqual(settled);
        const env = Object.fromEntries(
          Object.entries(spec.env ?? {}).map(([name, value]) => [name, new Secret(value)]),
        );
        const definition = toDefinition(settled, { ...registration, env });
        const fromRow = toDefinition(JSON.parse(JSON.stringify(settled)), { ...registration, env });
        expect(fromRow).toEqual(definition);
        const response = toFunctionResponse(definition);
        isResponse(response);
        expect(isResponse.errors).toBeNull();
        expect(Object.keys(response.env)).toEqual(Object.keys(env));
        expect(JSON.stringify(response)).not.toContain('hunter2');
      }),
      { numRuns: 500 },
    );
    expect(taken).toBeGreaterThan(100);
  });
});

describe('toFunctionResponse', () => {
  it('shows the modes by the names of the contract, and what was filled in', () => {
    const local = toFunctionResponse(define({ name: 'f', executionMode: 'LOCAL' }));
    expect(local).toMatchObject({
      image: '',
      handler: 'f.js',
      executionMode: 'LOCAL',
      generation: 5,
      revision: 1,
      env: {},
    });
    const app = toFunctionResponse(define({ name: 'f', executionMode: 'APP', appFunction: 'shop/order' }));
    expect(app).toMatchObject({ appFunction: 'shop/order' });
    const deployed = toFunctionResponse(define({ name: 'f', executionMode: 'DEPLOYMENT', image: 'i' }), 'process');
    expect(deployed).toMatchObject({
      executionMode: 'REMOTE',
      effectiveExecutionMode: 'REMOTE',
      requestedExecutionMode: 'DEPLOYMENT',
      degradationReason: expect.stringContaining('managed replicas are not available'),
      deploymentBackend: 'process',
    });
    expect(toFunctionResponse(define({ name: 'f', endpointUrl }), 'process')).not.toHaveProperty('deploymentBackend');
  });

  it('says where a function was found', () => {
    const discovered = { application: 'shop', trigger: 'queueTrigger' };
    expect(toFunctionResponse({ ...define({ name: 'f', executionMode: 'APP' }), discovered })).toMatchObject(
      discovered,
    );
  });
});
