import { once } from 'node:events';
import {
  Agent,
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
  type Server,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { defineError } from '@drover/contracts';
import { eventually, FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { httpFunction } from '../bindings/definition.test.fixture.js';
import type { InvocationCall, InvocationOutcome } from '../invocations/invocation-call.js';
import {
  assign,
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
    const end = new Promise<InvocationOutcome>((resolve) => ended.set(invocationId, () => resolve(succeeded())));
    return Promise.race([assign(call, capabilities, invocationId), end]);
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

  it('opens connections as the worker accepts them, and sends what waits on the first that is free', async () => {
    const expectations: (string | undefined)[] = [];
    const sockets = new Set<unknown>();
    const handle: RequestListener = (request, response) => {
      expectations.push(request.headers.expect);
      sockets.add(request.socket);
      request.pipe(response);
    };
    await withWorker(handle, ({ invoke }) =>
      serve(invoke, async ({ url }) => {
        const post = async (text: string) =>
          (await fetch(`${url}/api/upload/1`, { method: 'POST', body: text, headers: { 'x-n': text } })).text();
        const texts = Array.from({ length: 40 }, (_, n) => `text ${n}`);
        expect(await Promise.all(texts.map(post))).toEqual(texts);
        // Each connection was asked about once, by its first request.
        expect(expectations.filter((one) => one === '100-continue')).toHaveLength(sockets.size);
        expect(sockets.size).toBeLessThanOrEqual(40);
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

  it('works for workers that were not known to stream', async () => {
    const app = { streamsHttp: () => false };
    const handle: RequestListener = (request, response) => {
      if (request.url === '/api/upload/bad') response.destroy();
      else request.pipe(response);
    };
    await withWorker(handle, ({ invoke }) =>
      withServer({ functions: [upload], invoke, app }, async ({ url }) => {
        const answer = await fetch(`${url}/api/upload/1`, { method: 'POST', body: 'x'.repeat(100_000) });
        expect((await answer.text()).length).toBe(100_000);
        expect((await fetch(`${url}/api/upload/bad`)).status).toBe(502);
      }),
    );
  });

  it('answers 500 when the invocation fails before it has answered', async () => {
    let seen: IncomingMessage | undefined;
    await withWorker(
      (request) => void (seen = request),
      ({ port: workerPort }) => {
        const invoke = async (call: InvocationCall): Promise<InvocationOutcome> => {
          void assign(call, { HttpUri: `http://127.0.0.1:${workerPort}` });
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

  it('leaves a complete answer and its connection alone when the invocation fails afterwards', async () => {
    await withWorker(
      (_, response) => void response.end('whole'),
      ({ port: workerPort }) => {
        const fails: (() => void)[] = [];
        const invoke = (call: InvocationCall): Promise<InvocationOutcome> => {
          void assign(call, { HttpUri: `http://127.0.0.1:${workerPort}` });
          return new Promise((resolve) => fails.push(() => resolve(failed(boom({})))));
        };
        return serve(invoke, async ({ port }) => {
          const agent = new Agent({ keepAlive: true, maxSockets: 1 });
          const ask = async (): Promise<[string, boolean]> => {
            const client = httpRequest({ port, host: '127.0.0.1', path: '/api/upload/1', agent }).end();
            const [answer] = (await once(client, 'response')) as [IncomingMessage];
            return [await body(answer), client.reusedSocket];
          };
          expect(await ask()).toEqual(['whole', false]);
          fails[0]?.();
          await new Promise((resolve) => setImmediate(resolve));
          expect(await ask()).toEqual(['whole', true]);
          fails[1]?.();
          agent.destroy();
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
          void assign(call, { HttpUri: `http://127.0.0.1:${workerPort}` });
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
          void assign(call, { HttpUri: `http://127.0.0.1:${workerPort}` });
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

  it('abandons the invocation when the server never comes, or is not where a worker may have one', async () => {
    for (const HttpUri of ['http://127.0.0.1:9', 'http://169.254.169.254/', 'ftp://localhost', 'nonsense']) {
      await serve(
        (call) => assign(call, { HttpUri }),
        async ({ url }) => {
          const answer = await fetch(`${url}/api/upload/1`);
          expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([
            502,
            'FUNCTION_STREAM_FAILED',
          ]);
        },
      );
    }
  });

  it.each([
    ['nothing', {}, 204, ''],
    ['a response in the invocation', httpResponse('by message'), 200, 'by message'],
  ])('answers with %s if the worker sends no answer and the invocation has that', async (_, outcome, status, text) => {
    const clock = new FakeClock();
    await withWorker(
      () => undefined,
      ({ port: workerPort, server }) => {
        const taken = new Promise((resolve) => server.once('request', resolve));
        const invoke = async (call: InvocationCall): Promise<InvocationOutcome> => {
          void assign(call, { HttpUri: `http://127.0.0.1:${workerPort}` });
          await taken;
          setImmediate(() => void clock.advance(5_000));
          return { ...succeeded(), ...outcome };
        };
        return serve(
          invoke,
          async ({ url, observed }) => {
            const answer = await fetch(`${url}/api/upload/1`);
            expect([answer.status, await answer.text()]).toEqual([status, text]);
            expect(observed.filter(({ kind }) => kind === 'http.failed')).toEqual([]);
          },
          { clock },
        );
      },
    );
  });

  it.each([['keep-alive'], ['close']])(
    'does not tell the function that a client with Connection: %s left after its whole answer',
    async (connection) => {
      let end = (): void => undefined;
      await withWorker(
        (_, response) => void response.writeHead(202).end('taken'),
        ({ port: workerPort }) => {
          const calls: InvocationCall[] = [];
          const invoke = (call: InvocationCall): Promise<InvocationOutcome> => {
            calls.push(call);
            void assign(call, { HttpUri: `http://127.0.0.1:${workerPort}` });
            return new Promise((resolve) => (end = () => resolve(succeeded())));
          };
          return serve(invoke, async ({ port, observed }) => {
            const client = httpRequest({ port, host: '127.0.0.1', path: '/api/upload/1', headers: { connection } });
            const [answer] = (await once(client.end(), 'response')) as [IncomingMessage];
            expect([answer.statusCode, await body(answer)]).toEqual([202, 'taken']);
            client.destroy();
            await eventually(() => expect(observed.some(({ kind }) => kind === 'http.request')).toBe(true));
            expect(calls[0]?.signal?.aborted).toBe(false);
            end();
          });
        },
      );
    },
  );

  it('still brings the request to the worker if its client left before the worker could take it', async () => {
    const seen: string[] = [];
    await withWorker(
      (request, response) => {
        void body(request).then((text) => seen.push(text));
        response.end('too late');
      },
      async ({ port: workerPort, server, invoke }) => {
        await new Promise((resolve) => server.close(resolve));
        await serve(invoke, async ({ port, observed }) => {
          const client = httpRequest({ port, host: '127.0.0.1', method: 'POST', path: '/api/upload/1' });
          client.on('error', () => undefined).end('kept');
          client.once('finish', () => client.destroy());
          await eventually(() => expect(observed).toContainEqual(expect.objectContaining({ status: 499 })));
          server.listen(workerPort, '127.0.0.1');
          await eventually(() => expect(seen).toEqual(['kept']));
        });
      },
    );
  });

  it('tells the function, and closes the connection to its worker, when the client leaves in the middle of a body', async () => {
    let seen: IncomingMessage | undefined;
    await withWorker(
      (request) => void (seen = request.resume()),
      ({ invoke, calls }) =>
        serve(invoke, async ({ port }) => {
          const client = httpRequest({ port, host: '127.0.0.1', method: 'POST', path: '/api/upload/1' });
          client.on('error', () => undefined);
          client.write('x'.repeat(100_000));
          await eventually(() => seen !== undefined);
          client.destroy();
          await eventually(() => expect(seen?.destroyed).toBe(true));
          expect(calls[0]?.signal?.aborted).toBe(true);
        }),
    );
  });

  it('closes the connection to the worker when the client leaves in the middle of its answer', async () => {
    let seen: ServerResponse | undefined;
    await withWorker(
      (_, response) => void (seen = response).writeHead(200).write('first'),
      ({ invoke, calls }) =>
        serve(invoke, async ({ port }) => {
          const client = httpRequest({ port, host: '127.0.0.1', path: '/api/upload/1' });
          client.on('error', () => undefined);
          await once(client.end(), 'response');
          client.destroy();
          await eventually(() => expect(seen?.destroyed).toBe(true));
          expect(calls[0]?.signal?.aborted).toBe(true);
        }),
    );
  });

  it('answers at once when a stream fails, and the function runs on', async () => {
    let isEnded = false;
    await withWorker(
      (request) => request.socket.destroy(),
      ({ port: workerPort }) => {
        const invoke = (call: InvocationCall): Promise<InvocationOutcome> =>
          Promise.race([
            assign(call, { HttpUri: `http://127.0.0.1:${workerPort}` }).finally(() => (isEnded = true)),
            new Promise<InvocationOutcome>(() => undefined),
          ]);
        return serve(invoke, async ({ url }) => {
          const answer = await fetch(`${url}/api/upload/1`, { method: 'POST', body: 'x' });
          expect(answer.status).toBe(502);
          expect(isEnded).toBe(false);
        });
      },
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

  it.each([
    ['of the server', { limits: { bodyBytes: 100_000 } }, {}],
    ['of the application', {}, { bodyLimitBytes: 100_000 }],
  ])('has the limit for bodies %s', async (_, server, app) => {
    await withWorker(
      (request) => void request.resume(),
      ({ invoke }) =>
        withServer({ functions: [upload], invoke, app: { ...streaming, ...app }, server }, async ({ port }) => {
          const client = httpRequest({ port, host: '127.0.0.1', method: 'POST', path: '/api/upload/1' });
          const answered = new Promise<IncomingMessage>((resolve) => client.once('response', resolve));
          client.on('error', () => undefined);
          client.write('x'.repeat(200_000));
          expect((await answered).statusCode).toBe(413);
          client.destroy();
        }),
    );
  });

  it('has no limit but that of the application, beyond what could be read as a whole', async () => {
    let announced: string | undefined;
    const handle: RequestListener = (request, response) => {
      announced = request.headers['content-length'];
      response.end('taken');
    };
    await withWorker(handle, ({ invoke }) =>
      withServer(
        { functions: [upload], invoke, app: { ...streaming, bodyLimitBytes: 4_294_967_296 } },
        async ({ port }) => {
          const headers = { 'content-length': 3_221_225_472 };
          const client = httpRequest({ port, host: '127.0.0.1', method: 'POST', path: '/api/upload/1', headers });
          client.on('error', () => undefined).write('x');
          const [answer] = (await once(client, 'response')) as [IncomingMessage];
          expect([answer.statusCode, announced]).toEqual([200, '3221225472']);
          client.destroy();
        },
      ),
    );
  });
});
