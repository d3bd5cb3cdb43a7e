import { FramedCalls, headerLine, type Answer } from '@drover/http-edge';
import { systemClock } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import type { InvocationCall } from '../invocations/invocation-call.js';
import { httpFunction } from '../bindings/definition.test.fixture.js';
import {
  failed,
  httpResponse,
  nodeCapabilities,
  withServer,
  type ServedApp,
} from '../functions-http/http-server.test.fixture.js';
import { invocationFailed } from '../errors.js';

const target = '/admin/applications/app/functions/hello/invoke';
const ok = { headers: { 'content-type': 'application/json' } };

type Ending = { readonly answer: Answer } | { readonly error: unknown };
interface Sent {
  readonly id: number;
  readonly end: Promise<Ending>;
}

/** Serves one function, and calls it by frames. */
async function withCalls(
  invoke: ServedApp['invoke'],
  use: (send: (body: string, options?: { key?: string; to?: string }) => Sent, calls: FramedCalls) => Promise<void>,
): Promise<void> {
  await withServer({ functions: [httpFunction('hello')], invoke }, async ({ url }) => {
    const calls = new FramedCalls({
      url: new URL(url),
      target: '/admin/applications',
      maxBodyBytes: 1_000_000,
      connectTimeoutMs: 5_000,
      clock: systemClock,
    });
    const send = (body: string, { key = 'master', to = target } = {}): Sent => {
      let done: (end: Ending) => void = () => undefined;
      const end = new Promise<Ending>((resolve) => (done = resolve));
      const id = calls.connection?.send(
        { head: `POST ${to} HTTP/1.1\r\nhost: localhost\r\n${headerLine('x-functions-key', key)}`, body },
        { answered: (answer) => done({ answer }), failed: (error) => done({ error }) },
      );
      return { id: id ?? 0, end };
    };
    try {
      calls.open();
      // Refused for its key, so the function does not see it.
      await eventually(() => send('probe', { key: 'none' }).id !== 0);
      await use(send, calls);
    } finally {
      await calls.close();
    }
  });
}

const textOf = (end: Ending) => ('answer' in end ? end.answer.body?.toString() : undefined);

describe('calls of the control plane in frames', () => {
  it('run functions side by side, each with its own result', async () => {
    await withCalls(
      (call) => {
        const { body } = call.inputs(nodeCapabilities).inputData[0]?.data?.http ?? {};
        return httpResponse(`{"input": ${Buffer.from(body?.bytes ?? '').toString()}}`, ok);
      },
      async (send) => {
        const ends = await Promise.all(Array.from({ length: 50 }, (_, index) => send(`{"n":${index}}`).end));
        for (const [index, end] of ends.entries()) expect(textOf(end)).toContain(`{"input": {"n":${index}}}`);
      },
    );
  });

  it('need the master key, and reach nothing but applications', async () => {
    await withCalls(
      () => expect.unreachable(),
      async (send) => {
        expect(await send('1', { key: 'function-key' }).end).toMatchObject({ answer: { status: 401 } });
        expect(await send('1', { to: '/admin/applications/other/functions/hello/invoke' }).end).toMatchObject({
          answer: { status: 404 },
        });
        for (const to of ['/api/hello', '/admin/functions', '/healthz'])
          expect(await send('1', { to }).end).toMatchObject({ error: { code: 'CONNECTION_LOST' } });
      },
    );
  });

  it('cancel their invocation alone when they are given up', async () => {
    const running: InvocationCall[] = [];
    await withCalls(
      (call) => {
        running.push(call);
        return new Promise((resolve) =>
          call.signal?.addEventListener('abort', () =>
            resolve(failed(invocationFailed({ functionName: 'hello', type: '', text: 'cancelled' }))),
          ),
        );
      },
      async (send, calls) => {
        const first = send('1');
        send('2');
        await eventually(() => running.length === 2);
        calls.connection?.cancel(first.id);
        await eventually(() => running[0]?.signal?.aborted === true);
        expect(running[1]?.signal?.aborted).toBe(false);
        await calls.connection?.destroy();
        await eventually(() => running[1]?.signal?.aborted === true);
      },
    );
  });
});
