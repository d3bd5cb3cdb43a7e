import { describe, expect, it } from 'vitest';
import type { LogBatch, RunPayload } from '../local-messages.js';
import { mayHandlerHave } from '../handler-checks.js';
import { LocalCallContext } from './call-context.js';
import { LineLog } from './line-log.js';
import { describeFailure, toFailure, toReply } from './to-reply.js';

const payload: RunPayload = ['1', false, 'id', 2, 0, null, null, null, null, 'key-1'];

describe('the context of a call', () => {
  const { signal: requestSignal } = new AbortController();
  const make = (): LocalCallContext =>
    new LocalCallContext(payload, 'fn', false, {
      log: new LineLog(() => undefined),
      request: { signal: requestSignal },
    });

  it('may be taken apart', () => {
    const context = make();
    const { setStatus, setHeader, signal, logger } = context;
    setStatus(418);
    setHeader('X-A', '1');
    setHeader('x-a', 2);
    logger.info('said');
    expect(signal).toBe(requestSignal);
    expect(LocalCallContext.extras(context, null)).toEqual({ statusCode: 418, headers: { 'x-a': '2' }, initMs: null });
  });

  it('has nothing to add unless something was said', () => {
    expect(LocalCallContext.extras(make(), null)).toBeUndefined();
    expect(LocalCallContext.extras(make(), 5)).toMatchObject({ initMs: 5 });
  });

  it('takes __proto__ for the name of a header like any other', () => {
    const context = make();
    context.setHeader('__proto__', 'x');
    expect(Object.entries(LocalCallContext.extras(context, null)?.headers ?? {})).toEqual([['__proto__', 'x']]);
  });

  it.each([
    ['', 'x'],
    ['a b', 'x'],
    ['a:', 'x'],
    ['ä', 'x'],
    ['a', 'x\ny'],
    ['a', '€'],
    ['a', 'x'.repeat(8_193)],
  ])('refuses the header %j', (name, value) => {
    expect(() => make().setHeader(name, value)).toThrow(TypeError);
  });

  it('takes so many headers and no more', () => {
    const context = make();
    for (let n = 0; n < 64; n += 1) context.setHeader(`a${n}`, n);
    context.setHeader('a0', 'again');
    expect(() => context.setHeader('a64', 1)).toThrow(/64 headers/);
  });

  it.each([199, 600, 200.5, Number.NaN, '200'])('refuses the status %j', (code) => {
    expect(() => make().setStatus(code as number)).toThrow(RangeError);
  });
});

describe('what a handler returned', () => {
  it('is only text where there is nothing to say about it', () => {
    expect(toReply({ a: 1 }, undefined, 100)).toBe('{"a":1}');
    expect(toReply(undefined, undefined, 100)).toBe('null');
    expect(toReply(new Uint8Array([1]).subarray(0, 1), undefined, 100)).toEqual([
      'ok',
      '"AQ=="',
      true,
      null,
      null,
      null,
    ]);
  });

  it('is measured in bytes', () => {
    expect(toReply('ä'.repeat(49), undefined, 100)).toBe(JSON.stringify('ä'.repeat(49)));
    expect(toReply('ä'.repeat(50), undefined, 100)).toEqual([
      'failed',
      'the handler returned 102 bytes of JSON; the maximum is 100',
      false,
    ]);
  });
});

describe('what a handler threw', () => {
  it.each([
    [new RangeError('too far'), 'RangeError: too far'],
    [new Error(''), 'Error'],
    [undefined, 'the handler threw undefined'],
    [Symbol('s'), 'the handler threw Symbol(s)'],
    [{ message: 'from elsewhere' }, 'the handler threw from elsewhere'],
    [{ a: 1n }, 'the handler threw a value that cannot be read'],
    [new Error('a\u0000b\u001b[31m\nc'), 'Error: a b [31m\nc'],
  ])('number %# is described', (thrown, text) => {
    expect(describeFailure(thrown)).toBe(text);
  });

  it('says whether it is worth a retry', () => {
    const saysTransient = (thrown: unknown): unknown => toFailure(thrown)[2];
    expect(saysTransient({ transient: true })).toBe(true);
    expect(saysTransient({ retryable: true })).toBe(true);
    for (const thrown of [undefined, null, 1, {}, { transient: 1 }, new Error('x')])
      expect(saysTransient(thrown)).toBe(false);
    const nasty = Object.defineProperty({}, 'transient', {
      get: () => {
        throw new Error('x');
      },
    });
    expect(saysTransient(nasty)).toBe(false);
  });
});

describe('what handlers say', () => {
  it('goes in batches, and floods are cut and counted', async () => {
    const batches: LogBatch[] = [];
    const log = new LineLog((lines) => batches.push(lines));
    for (let n = 0; n < 3_000; n += 1) log.loggerOf('id').info('line %d', n);
    await new Promise((resolve) => setImmediate(resolve));
    expect(batches).toHaveLength(1);
    const lines = batches[0] ?? [];
    expect(lines.length).toBeLessThanOrEqual(2_001); // a second may have ended meanwhile
    expect(lines[0]).toEqual(['info', 'line 0', 'id']);
  });
});

describe('variables of handlers', () => {
  it.each(['NODE_OPTIONS', 'NODE_PATH', 'node_options', 'LD_PRELOAD', 'DYLD_INSERT_LIBRARIES', 'PATH'])(
    '%s is refused',
    (name) => {
      expect(mayHandlerHave(name)).toBe(false);
    },
  );
  it.each(['NODE_ENV', 'GREETING', 'MY_PATH', 'DATABASE_URL', 'FIELD_1'])('%s is taken', (name) => {
    expect(mayHandlerHave(name)).toBe(true);
  });
});
