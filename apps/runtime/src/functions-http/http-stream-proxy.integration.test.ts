import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
  type Server,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { defineError } from '@drover/contracts';
import { eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { httpFunction } from '../bindings/definition.test.fixture.js';
import type { InvocationCall, InvocationOutcome } from '../invocations/invocation-call.js';
import {
  failed,
  httpResponse,
  nodeCapabilities,
  succeeded,
  withServer,
  type ServedApp,
  type Served,
} from './http-server.test.fixture.js';

const boom = defineError('TEST_BOOM', {
  fault: 'customer',
  retryable: false,
  status: 500,
  message: () => 'inside',
  help: '',
});
const cancelled = defineError('TEST_CANCELLED', {
  fault: 'caller',
  retryable: true,
  status: 499,
  message: () => 'cancelled',
  help: '',
});
const upload = httpFunction('upload', { route: 'upload/{id}', methods: ['POST', 'GET'] });

/** A worker with a server of its own: `handle` is its function; the invocation ends when the answer has. */
async function withWorker<T>(
  handle: RequestListener,
  use: (worker: { invoke: ServedApp['invoke']; port: number; calls: InvocationCall[]; server: Server }) => Promise<T>,
): Promise<T> {
  const ended = new Map<string, () => void>();
  const server = createServer((request, response) => {
    response.once('close', () => ended.get(String(request.headers['x-ms-invocation-id']))?.());
    handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens
  const calls: InvocationCall[] = [];
  const invoke = async (call: InvocationCall): Promise<InvocationOutcome> => {
    const capabilities = { ...nodeCapabilities, HttpUri: `http://localhost:${port}/` };
    const invocationId = `i-${calls.push(call)}`;
    call.inputs(capabilities);
    const end = new Promise<InvocationOutcome>((resolve) => {
      ended.set(invocationId, () => resolve(succeeded()));
      call.signal?.addEventListener('abort', () => resolve(failed(cancelled({}))));
    });
    call.onAssigned?.({ invocationId, workerId: 'w', capabilities });
    return end;
  };
  try {
    return await use({ invoke, port, calls, server });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const streaming = { streamsHttp: () => true };
const body = async (message: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const chunk of message) text += String(chunk);
  return text;
};
const serve = (invoke: ServedApp['invoke'], use: (served: Served) => Promise<void>, server: ServedApp['server'] = {}) =>
  withServer(
    { functions: [upload], invoke, app: streaming, server, hostJson: { customHeaders: { 'x-added': 'yes' } } },
    use,
  );

describe('streaming through the server of a worker', () => {
  it('passes method, path, headers and body on, and the answer back', async () => {
    const seen: Record<string, unknown>[] = [];
    const answerTo = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      seen.push({ method: request.method, url: request.url, headers: request.headers, body: await body(request) });
      response
        .writeHead(201, {
          'x-answer': 'yes',
          'set-cookie': ['a=1', 'b=2'],
          connection: 'keep-alive, x-hop',
          'x-hop': 'no',
        })
        .end('done');
    };
    await withWorker(
      (request, response) => void answerTo(request, response),
      ({ invoke, calls, port: workerPort }) =>
        serve(invoke, async ({ url, port }) => {
          const answer = await fetch(`${url}/api/upload/7?x=%20y`, {
            method: 'POST',
            body: 'content',
            headers: { 'x-custom': 'v', 'x-ms-invocation-id': 'forged', 'x-forwarded-host': 'forged' },
          });
          expect([
            answer.status,
            await answer.text(),
            answer.headers.get('x-answer'),
            answer.headers.get('x-added'),
          ]).toEqual([201, 'done', 'yes', 'yes']);
          expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
          expect(answer.headers.get('x-hop')).toBeNull();
          expect(seen).toMatchObject([
            {
              method: 'POST',
              url: '/api/upload/7?x=%20y',
              body: 'content',
              headers: {
                host: `localhost:${workerPort}`,
                'x-custom': 'v',
                'x-ms-invocation-id': 'i-1',
                'x-forwarded-host': `127.0.0.1:${port}`,
                'x-forwarded-proto': 'http',
                'x-forwarded-for': '127.0.0.1',
              },
            },
          ]);
          const inputs = calls[0]?.inputs({ ...nodeCapabilities, HttpUri: 'x' });
          expect(inputs?.inputData[0]?.data).toEqual({ http: {} });
          expect(inputs?.triggerMetadata['id']).toEqual({ string: '7' });
        }),
    );
  });

  it('brings pieces as they come, in both directions, at the same time', async () => {
    const handle: RequestListener = (request, response) => {
      response.writeHead(200);
      request.on('data', (chunk: Buffer) => response.write(`echo ${chunk.toString()};`));
      request.on('end', () => response.end('end'));
    };
    await withWorker(handle, ({ invoke }) =>
      serve(invoke, async ({ port }) => {
        const client = httpRequest({ port, host: '127.0.0.1', method: 'POST', path: '/api/upload/1' });
        const answered = new Promise<IncomingMessage>((resolve) => client.once('response', resolve));
        client.write('one');
        const answer = await answered;
        let text = '';
        answer.on('data', (chunk: Buffer) => (text += chunk.toString()));
        await eventually(() => text === 'echo one;');
        client.write('two');
        await eventually(() => text === 'echo one;echo two;');
        client.end();
        await eventually(() => expect(text).toBe('echo one;echo two;end'));
      }),
    );
  });

  it('reads small bodies itself, so that any worker can take them, and refuses large ones for the wrong kind', async () => {
    const invoke = (call: InvocationCall): InvocationOutcome => {
      try {
        return httpResponse(String(call.inputs(nodeCapabilities).inputData[0]?.data?.http?.body?.bytes?.length));
      } catch (error) {
        return failed(error as Parameters<typeof failed>[0]); // as the real one does
      }
    };
    await serve(invoke, async ({ url }) => {
      expect(await (await fetch(`${url}/api/upload/1`, { method: 'POST', body: 'x'.repeat(1_000) })).text()).toBe(
        '1000',
      );
      const large = await fetch(`${url}/api/upload/1`, { method: 'POST', body: 'x'.repeat(100_000) });
      expect([large.status, ((await large.json()) as { error: string }).error]).toEqual([
        503,
        'FUNCTION_BODY_STREAMED',
      ]);
    });
  });

  it('works for workers that were not known to stream, whose failure ends the connection', async () => {
    const app = { streamsHttp: () => false };
    const handle: RequestListener = (request, response) => {
      if (request.url === '/api/upload/bad') response.destroy();
      else request.pipe(response);
    };
    await withWorker(handle, ({ invoke }) =>
      withServer({ functions: [upload], invoke, app }, async ({ url }) => {
        const answer = await fetch(`${url}/api/upload/1`, { method: 'POST', body: 'x'.repeat(100_000) });
        expect((await answer.text()).length).toBe(100_000);
        await expect(fetch(`${url}/api/upload/bad`)).rejects.toThrow();
      }),
    );
  });

  it('answers 500 when the invocation fails before it has answered', async () => {
    let seen: IncomingMessage | undefined;
    await withWorker(
      (request) => void (seen = request),
      ({ port: workerPort }) => {
        const invoke = async (call: InvocationCall): Promise<InvocationOutcome> => {
          const capabilities = { HttpUri: `http://127.0.0.1:${workerPort}` };
          call.onAssigned?.({ invocationId: 'i', workerId: 'w', capabilities });
          await eventually(() => seen !== undefined);
          return failed(boom({}));
        };
        return serve(invoke, async ({ url }) => {
          const answer = await fetch(`${url}/api/upload/1`);
          expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([500, 'FUNCTION_FAILED']);
          await eventually(() => expect(seen?.destroyed).toBe(true));
        });
      },
    );
  });

  it('breaks off when the invocation fails in the middle of its answer', async () => {
    await withWorker(
      (_, response) => void response.writeHead(200).write('half'),
      ({ port: workerPort }) => {
        let fail = (): void => undefined;
        const invoke = (call: InvocationCall): Promise<InvocationOutcome> => {
          const capabilities = { HttpUri: `http://127.0.0.1:${workerPort}` };
          call.onAssigned?.({ invocationId: 'i', workerId: 'w', capabilities });
          return new Promise((resolve) => (fail = () => resolve(failed(boom({})))));
        };
        return serve(invoke, async ({ url }) => {
          const answer = await fetch(`${url}/api/upload/1`);
          expect(answer.status).toBe(200);
          fail();
          await expect(answer.text()).rejects.toThrow();
        });
      },
    );
  });

  it('waits for a server that is not there yet', async () => {
    await withWorker(
      (_, response) => void response.end('at last'),
      async ({ port: workerPort, server }) => {
        await new Promise((resolve) => server.close(resolve));
        const invoke = (call: InvocationCall): Promise<InvocationOutcome> => {
          const capabilities = { HttpUri: `http://127.0.0.1:${workerPort}` };
          call.onAssigned?.({ invocationId: 'i', workerId: 'w', capabilities });
          return new Promise((resolve) =>
            setTimeout(() => server.listen(workerPort, '127.0.0.1', () => resolve(succeeded())), 200),
          );
        };
        await serve(invoke, async ({ url }) => {
          expect(await (await fetch(`${url}/api/upload/1`, { method: 'POST', body: 'kept' })).text()).toBe('at last');
        });
      },
    );
  });

  it('gives the invocation up when the server never comes, or is not where a worker may have one', async () => {
    for (const HttpUri of ['http://127.0.0.1:9', 'http://169.254.169.254/', 'ftp://localhost', 'nonsense']) {
      let reason: unknown;
      const invoke = (call: InvocationCall): Promise<InvocationOutcome> => {
        call.onAssigned?.({ invocationId: 'i', workerId: 'w', capabilities: { HttpUri } });
        return new Promise((resolve) => {
          const give = (): void => {
            reason = call.signal?.reason;
            resolve(failed(cancelled({})));
          };
          if (call.signal?.aborted) give();
          else call.signal?.addEventListener('abort', give);
        });
      };
      await serve(invoke, async ({ url }) => {
        const answer = await fetch(`${url}/api/upload/1`);
        expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([
          502,
          'FUNCTION_STREAM_FAILED',
        ]);
        expect(reason).toMatchObject({ code: 'FUNCTION_STREAM_FAILED' });
      });
    }
  });

  it('lets go of the worker when the caller goes away', async () => {
    let seen: IncomingMessage | undefined;
    await withWorker(
      (request) => void (seen = request.resume()),
      ({ invoke }) =>
        serve(invoke, async ({ port }) => {
          const client = httpRequest({ port, host: '127.0.0.1', method: 'POST', path: '/api/upload/1' });
          client.on('error', () => undefined);
          client.write('x'.repeat(100_000));
          await eventually(() => seen !== undefined);
          client.destroy();
          await eventually(() => expect(seen?.destroyed).toBe(true));
        }),
    );
  });

  it('ends what does not move', async () => {
    await withWorker(
      () => undefined,
      ({ invoke }) =>
        serve(
          invoke,
          async ({ url }) => {
            const answer = await fetch(`${url}/api/upload/1`);
            expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([
              504,
              'FUNCTION_STREAM_TIMED_OUT',
            ]);
          },
          { limits: { streamIdleMs: 100 } },
        ),
    );
  });

  it('has the same limit for bodies', async () => {
    await withWorker(
      (request) => void request.resume(),
      ({ invoke }) =>
        serve(
          invoke,
          async ({ port }) => {
            const client = httpRequest({ port, host: '127.0.0.1', method: 'POST', path: '/api/upload/1' });
            const answered = new Promise<IncomingMessage>((resolve) => client.once('response', resolve));
            client.on('error', () => undefined);
            client.write('x'.repeat(200_000));
            expect((await answered).statusCode).toBe(413);
            client.destroy();
          },
          { limits: { bodyBytes: 100_000 } },
        ),
    );
  });
});
