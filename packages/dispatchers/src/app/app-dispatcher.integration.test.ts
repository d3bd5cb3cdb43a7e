import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Secret, systemClock } from '@drover/service-kit';
import { eventually, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import type { FunctionDefinition } from '../function-definition.js';
import { AppDispatcher, type AppDispatcherOptions } from './app-dispatcher.js';
import { RuntimeConnection, type RuntimeConnectionOptions } from './runtime-connection.js';
import { attemptOf as makeAttempt, definitionOf, type AttemptChanges, type TestAttempt } from '../testing/attempts.js';
import { dispatcherContract } from '../testing/dispatcher-contract.js';
import { answer, refuse, ScriptedRuntime, type ScriptedRequest } from '../testing/scripted-runtime.js';

const definition = definitionOf({
  mode: 'APP',
  timeoutMs: 1_000,
  appFunction: { application: 'shop', name: 'hello' },
});
const attemptOf = (changes: AttemptChanges = {}, of: FunctionDefinition = definition): TestAttempt =>
  makeAttempt(of, { number: 2, payload: { json: '{"a": "ä"}' }, ...changes });

const nothingFound: AppDispatcherOptions['discovered'] = { find: () => undefined, isKnown: true };

async function withDispatcher(
  use: (parts: { runtime: ScriptedRuntime; dispatcher: AppDispatcher }) => Promise<void>,
  options: Partial<RuntimeConnectionOptions> & { discovered?: AppDispatcherOptions['discovered'] } = {},
): Promise<void> {
  const runtime = await new ScriptedRuntime().start();
  const { discovered = nothingFound, ...given } = options;
  const connection = new RuntimeConnection({
    runtimeUrl: runtime.url,
    runtimeUrlFile: undefined,
    masterKey: new Secret('master'),
    clock: systemClock,
    ...given,
  });
  const dispatcher = new AppDispatcher({ connection, discovered });
  try {
    await use({ runtime, dispatcher });
  } finally {
    await connection.stop();
    await runtime.stop();
  }
}

describe('the app dispatcher', () => {
  it('sends a call with what there is to know about it, and brings back what came of it', async () => {
    await withDispatcher(async ({ runtime, dispatcher }) => {
      runtime.script = ({ response }) => answer(response, '{"b":1}', { statusCode: 201, headers: { x: '1' } });
      const result = await dispatcher.dispatch(
        attemptOf({
          metadata: { shop: 'ä' },
          headers: { 'x-functions-key': 'forged', host: 'shop.example' },
          traceId: 't-1',
          traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        }),
      );
      expect(result).toEqual({ kind: 'success', output: { json: '{"b":1}' }, statusCode: 201, headers: { x: '1' } });
      expect(runtime.requests).toMatchObject([
        {
          method: 'POST',
          url: '/admin/applications/default/shop/functions/hello/invoke',
          headers: {
            'x-functions-key': 'master',
            'x-execution-id': '01900000-0000-7000-8000-000000000001',
            'x-dispatch-attempt': '2',
            'x-timeout-ms': '1000',
            'x-trace-id': 't-1',
            traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
            'content-type': 'application/json',
          },
          head: { metadata: { shop: 'ä' }, headers: { 'x-functions-key': 'forged', host: 'shop.example' } },
          payload: Buffer.from('{"a": "ä"}'),
        },
      ]);
    });
  });

  it('sends nothing but the input where there is nothing else, and bytes as bytes', async () => {
    await withDispatcher(async ({ runtime, dispatcher }) => {
      expect(await dispatcher.dispatch(attemptOf())).toEqual({ kind: 'success', output: { json: 'null' } });
      await dispatcher.dispatch(attemptOf({ payload: { json: '"AP8="', encoding: 'base64' }, traceId: 'ä\n' }));
      expect(runtime.requests).toMatchObject([
        { head: undefined, payload: Buffer.from('{"a": "ä"}') },
        { head: undefined, payload: Buffer.from([0, 255]), headers: { 'content-type': 'application/octet-stream' } },
      ]);
      expect(runtime.requests[1]?.headers['x-trace-id']).toBeUndefined();
      for (let count = 0; count < 10; count += 1) await dispatcher.dispatch(attemptOf());
      // One is not yet free in the moment in which it has answered.
      expect(runtime.connections).toBeLessThanOrEqual(2);
    });
  });

  it.each([
    [503, 'RUNTIME_NO_WORKER', { kind: 'failed', code: 'APP_UNAVAILABLE', transient: true, retryAfterMs: 2_000 }],
    [429, 'RUNTIME_SATURATED', { kind: 'failed', code: 'APP_OVERLOADED', transient: true, retryAfterMs: 2_000 }],
    [500, 'RUNTIME_INVOCATION_FAILED', { code: 'EXECUTION_FAILED', message: 'RUNTIME_INVOCATION_FAILED happened' }],
    [504, 'RUNTIME_INVOCATION_TIMED_OUT', { kind: 'timeout', code: 'APP_TIMEOUT' }],
  ])('understands %d %s', async (status, code, expected) => {
    await withDispatcher(async ({ runtime, dispatcher }) => {
      runtime.script = ({ response }) => refuse(response, status, code, { 'retry-after': '2' });
      expect(await dispatcher.dispatch(attemptOf())).toMatchObject(expected);
    });
  });

  it('aborts an abandoned call, and the next one works', async () => {
    await withDispatcher(async ({ runtime, dispatcher }) => {
      let isClosed = false;
      runtime.script = ({ response }) => void response.once('close', () => (isClosed = true));
      const attempt = attemptOf();
      const result = dispatcher.dispatch(attempt);
      await eventually(() => runtime.requests.length === 1);
      const drained = dispatcher.drain(new AbortController().signal);
      attempt.abandon();
      expect(await result).toMatchObject({ kind: 'failed' });
      await drained;
      await eventually(() => isClosed);
      runtime.script = ({ response }) => answer(response, '1');
      expect(await dispatcher.dispatch(attemptOf())).toMatchObject({ output: { json: '1' } });
    });
  });

  it('does not even send a call that was given up before there was a connection for it', async () => {
    await withDispatcher(
      async ({ runtime, dispatcher }) => {
        runtime.script = () => undefined;
        const first = attemptOf();
        const second = attemptOf();
        const results = [dispatcher.dispatch(first), dispatcher.dispatch(second)];
        await eventually(() => runtime.requests.length === 1);
        second.abandon();
        await results[1];
        runtime.script = ({ response }) => answer(response, '"later"');
        const held = runtime.requests[0]?.response;
        if (held) answer(held, '"first"');
        expect(await results[0]).toMatchObject({ output: { json: '"first"' } });
        expect(await dispatcher.dispatch(attemptOf())).toMatchObject({ output: { json: '"later"' } });
        expect(runtime.requests).toHaveLength(2);
      },
      { maxConnections: 1 },
    );
  });

  it.each([
    ['breaks the connection', (runtime: ScriptedRuntime) => (runtime.script = ({ response }) => response.destroy())],
    [
      'answers half',
      (runtime: ScriptedRuntime) =>
        (runtime.script = ({ response }) => {
          response.writeHead(200, { 'content-length': '100' });
          response.write('{', () => response.destroy());
        }),
    ],
  ])('tells that the runtime is away when it %s', async (_what, prepare) => {
    await withDispatcher(async ({ runtime, dispatcher }) => {
      prepare(runtime);
      expect(await dispatcher.dispatch(attemptOf())).toMatchObject({ code: 'APP_UNAVAILABLE', transient: true });
    });
  });

  it('takes no more than it can hold', async () => {
    await withDispatcher(
      async ({ runtime, dispatcher }) => {
        runtime.script = ({ response }) => answer(response, `"${'x'.repeat(100_000)}"`);
        expect(await dispatcher.dispatch(attemptOf())).toMatchObject({ code: 'APP_ERROR', transient: false });
      },
      { answerLimitBytes: 10_000 },
    );
  });

  it('finds the runtime when the file says where it is, and again when it has moved', async () => {
    await withScratchDirectory(async (directory) => {
      const file = path.join(directory, 'runtime-url');
      await withDispatcher(
        async ({ runtime, dispatcher }) => {
          expect(await dispatcher.dispatch(attemptOf())).toMatchObject({ code: 'APP_UNAVAILABLE', transient: true });
          const old = await new ScriptedRuntime().start();
          await writeFile(file, `${old.url}\n`);
          expect(await dispatcher.dispatch(attemptOf())).toMatchObject({ kind: 'success' });
          await old.stop();
          await writeFile(file, runtime.url);
          expect(await dispatcher.dispatch(attemptOf())).toMatchObject({ code: 'APP_UNAVAILABLE', transient: true });
          expect(await dispatcher.dispatch(attemptOf())).toMatchObject({ kind: 'success' });
          expect(runtime.requests).toHaveLength(1);
        },
        { runtimeUrl: undefined, runtimeUrlFile: file },
      );
    });
  });

  it('says so where there is no runtime at all', async () => {
    await withDispatcher(
      async ({ dispatcher }) => {
        expect(await dispatcher.dispatch(attemptOf())).toMatchObject({ code: 'APP_UNAVAILABLE', transient: false });
      },
      { runtimeUrl: undefined },
    );
  });

  it('looks for the application where the function names none', async () => {
    let isKnown = false;
    const discovered: AppDispatcherOptions['discovered'] = {
      find: (_tenant, name) => (name === 'hello' ? definition : undefined),
      get isKnown() {
        return isKnown;
      },
    };
    await withDispatcher(
      async ({ runtime, dispatcher }) => {
        const named = (name: string) => attemptOf({}, { ...definition, name: 'alias', appFunction: { name } });
        expect(await dispatcher.dispatch(named('hello'))).toMatchObject({ kind: 'success' });
        expect(runtime.requests[0]?.url).toBe('/admin/applications/default/shop/functions/hello/invoke');
        expect(await dispatcher.dispatch(named('gone'))).toMatchObject({ code: 'APP_UNAVAILABLE', transient: true });
        isKnown = true;
        expect(await dispatcher.dispatch(named('gone'))).toMatchObject({ code: 'APP_FUNCTION_MISSING' });
      },
      { discovered },
    );
  });
});

dispatcherContract('application', async () => {
  const runtime = await new ScriptedRuntime().start();
  const held = new Set<ScriptedRequest['response']>();
  runtime.script = ({ url, response }) => {
    if (url.includes('/succeeds/')) return answer(response, '{"ok":true}');
    if (url.includes('/fails/')) return refuse(response, 500, 'FUNCTION_FAILED');
    held.add(response);
    response.once('close', () => held.delete(response));
    return undefined;
  };
  const connection = new RuntimeConnection({
    runtimeUrl: runtime.url,
    runtimeUrlFile: undefined,
    masterKey: undefined,
    clock: systemClock,
  });
  const dispatcher = new AppDispatcher({ connection, discovered: nothingFound });
  return {
    dispatcher,
    attempt: (behaviour) =>
      makeAttempt(definitionOf({ mode: 'APP', appFunction: { application: 'shop', name: behaviour } })),
    waiting: () => held.size,
    finish: () => {
      for (const response of held) answer(response, '{"ok":true}');
    },
    stop: async () => {
      await dispatcher.stop();
      await connection.stop();
    },
    cleanUp: () => runtime.stop(),
  };
});
