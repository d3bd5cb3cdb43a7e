import Type from 'typebox';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hasCode, isCodedError, type CodedError } from '../errors/define-error.js';
import { createClient, type Client } from './client.js';
import { defineRoute } from './route.js';

/** As much of Node as this test needs: the package is compiled without Node's types, so that it stays browser-safe. */
interface ServerResponse {
  writeHead(status: number, headers?: Readonly<Record<string, string>>): ServerResponse;
  write(text: string, done: () => void): void;
  end(text: string): void;
  destroy(): void;
}
interface IncomingMessage extends AsyncIterable<Uint8Array> {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}
interface Server {
  listen(port: number, host: string, done: () => void): void;
  address(): { readonly port: number };
  close(done: () => void): void;
  closeAllConnections(): void;
}
type CreateServer = (listener?: (request: IncomingMessage, response: ServerResponse) => void) => Server;
const nodeHttp: string = 'node:http';
const { createServer } = (await import(nodeHttp)) as { readonly createServer: CreateServer };

const routes = {
  getBird: defineRoute({
    id: 'getBird',
    method: 'GET',
    path: '/birds/{birdId}/songs/{song}',
    about: 'One song',
    access: 'control:read',
    params: Type.Object({ birdId: Type.String(), song: Type.String() }),
    query: Type.Object({
      lang: Type.Optional(Type.String()),
      limit: Type.Optional(Type.Integer()),
      deep: Type.Optional(Type.Boolean()),
    }),
    responses: { 200: { about: 'It', schema: Type.Object({ ok: Type.Boolean() }) } },
  }),
  makeBird: defineRoute({
    id: 'makeBird',
    method: 'POST',
    path: '/birds',
    about: 'A new one',
    access: 'control:write',
    body: Type.Object({ name: Type.String() }),
    responses: { 201: { about: 'It', schema: Type.Object({ name: Type.String() }) } },
  }),
  freeBird: defineRoute({
    id: 'freeBird',
    method: 'DELETE',
    path: '/birds/{birdId}',
    about: 'Lets it fly',
    access: 'control:write',
    params: Type.Object({ birdId: Type.String() }),
    responses: { 204: { about: 'Gone' } },
  }),
  sendEgg: defineRoute({
    id: 'sendEgg',
    method: 'POST',
    path: '/birds/{birdId}/eggs',
    about: 'A file',
    access: 'control:write',
    params: Type.Object({ birdId: Type.String() }),
    upload: { contentType: 'application/zip', about: 'An egg' },
    responses: { 201: { about: 'It', schema: Type.Object({ ok: Type.Boolean() }) } },
  }),
  getText: defineRoute({
    id: 'getText',
    method: 'GET',
    path: '/text',
    about: 'Text',
    access: 'public',
    responses: { 200: { about: 'Text', schema: Type.String(), contentType: 'text/plain' } },
  }),
};

let seen: (Pick<IncomingMessage, 'method' | 'url' | 'headers'> & { readonly body: string })[] = [];
let answer: (response: ServerResponse) => void;
let url: string;

const server = createServer((request, response) => void take(request, response));

async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url: address, headers } = request;
  let body = '';
  for await (const chunk of request) body += new TextDecoder().decode(chunk);
  seen.push({ method, url: address, headers, body });
  answer(response);
}

async function listen(some: Server): Promise<string> {
  await new Promise<void>((resolve) => some.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${some.address().port}`;
}

const close = (some: Server): Promise<void> => new Promise((resolve) => some.close(resolve));

const json = (status: number, body: unknown) => (response: ServerResponse) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
const text = (status: number, body: string) => (response: ServerResponse) => response.writeHead(status).end(body);

beforeAll(async () => {
  url = await listen(server);
});
beforeEach(() => {
  seen = [];
});
afterAll(async () => {
  server.closeAllConnections();
  await close(server);
});

const client = (apiKey?: string): Client<typeof routes> =>
  createClient(routes, { url, ...(apiKey !== undefined && { apiKey }) });

async function refusal(attempt: Promise<unknown>): Promise<CodedError> {
  const outcome = await attempt.then(
    (value) => new Error(`it resolved with ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (!isCodedError(outcome)) throw outcome;
  return outcome;
}

const song = { birdId: 'robin', song: 'dawn' };

describe('createClient', () => {
  it('sends method, key and JSON body, and resolves with the body of the answer', async () => {
    answer = json(201, { name: 'robin' });
    await expect(client('drv_1_2').makeBird({ body: { name: 'robin' } })).resolves.toEqual({ name: 'robin' });
    expect(seen).toMatchObject([
      { method: 'POST', url: '/birds', body: '{"name":"robin"}', headers: { authorization: 'Bearer drv_1_2' } },
    ]);
    expect(seen[0]?.headers['content-type']).toBe('application/json');
  });

  it('sends a file as it is, under its type', async () => {
    answer = json(201, { ok: true });
    const upload = new TextEncoder().encode('PK yolk');
    await expect(client().sendEgg({ params: { birdId: 'robin' }, upload })).resolves.toEqual({ ok: true });
    expect(seen).toMatchObject([
      { url: '/birds/robin/eggs', body: 'PK yolk', headers: { 'content-type': 'application/zip' } },
    ]);
  });

  it('sends neither a key nor a content type when it has none', async () => {
    answer = text(200, 'figures 1\n');
    await expect(client().getText()).resolves.toBe('figures 1\n');
    expect(seen[0]?.headers).not.toHaveProperty('authorization');
    expect(seen[0]?.headers).not.toHaveProperty('content-type');
  });

  it('resolves with nothing when the answer is 204', async () => {
    answer = text(204, '');
    await expect(client().freeBird({ params: { birdId: 'robin' } })).resolves.toBeUndefined();
  });

  it('encodes what stands in path and query, and leaves out what is undefined', async () => {
    answer = json(200, { ok: true });
    const params = { birdId: 'a/b?c#d e%', song: '../ключ' };
    await client().getBird({ params, query: { lang: 'x&y=1', limit: 3, deep: false } });
    const { pathname, searchParams } = new URL(seen[0]?.url ?? '', url);
    const segments = pathname.split('/').map((segment) => decodeURIComponent(segment));
    expect(segments).toEqual(['', 'birds', params.birdId, 'songs', params.song]);
    expect([...searchParams]).toEqual([
      ['lang', 'x&y=1'],
      ['limit', '3'],
      ['deep', 'false'],
    ]);
  });

  it.each(['', '.', '..', '\ud800'])('sends nothing when the parameter %j would lead elsewhere', async (birdId) => {
    expect(await refusal(client().freeBird({ params: { birdId } }))).toMatchObject({
      code: 'CLIENT_REQUEST_UNSENDABLE',
      fault: 'caller',
      message: expect.stringContaining('birdId'),
    });
    expect(seen).toEqual([]);
  });

  it('sends no key with a line break in it, and does not quote it', async () => {
    const error = await refusal(client('drv_1_s3cr3t\nx').getText());
    expect(error.code).toBe('CLIENT_REQUEST_UNSENDABLE');
    expect(`${error.message}${JSON.stringify(error.details)}${String(error.cause)}`).not.toContain('s3cr3t');
  });

  it("rejects with the server's own code, message and request id", async () => {
    answer = json(404, { error: 'BIRD_NOT_FOUND', message: 'no robin', requestId: 'r1' });
    const error = await refusal(client().getBird({ params: song, query: {} }));
    expect(error).toMatchObject({
      code: 'BIRD_NOT_FOUND',
      message: 'no robin',
      status: 404,
      fault: 'caller',
      retryable: false,
      details: { requestId: 'r1' },
    });
  });

  it.each([
    [429, 'caller', true],
    [503, 'platform', true],
    [409, 'caller', false],
  ] as const)('takes traits from the status %i, since the server may be newer', async (status, fault, retryable) => {
    answer = json(status, { error: 'NEW_CODE', message: 'm', requestId: 'r' });
    expect(await refusal(client().getText())).toMatchObject({ code: 'NEW_CODE', status, fault, retryable });
  });

  it.each([
    ['a page of a proxy', text(502, '<html>Bad Gateway</html>'), /status 502: <html>/],
    ['an empty error', text(500, ''), /status 500: the body is empty/],
    ['an error of another framework', json(404, { statusCode: 404, error: 'Not Found', message: 'x' }), /status 404/],
    ['a success that is not JSON', text(200, '<html>Sign in</html>'), /status 200: the body is not JSON/],
    ['a success without the body it should have', text(200, ''), /status 200: the body is empty/],
    ['a success the route does not have', json(202, {}), /status 202: the operation does not declare/],
  ])('says so when the answer is %s', async (_, given, message) => {
    answer = given;
    const error = await refusal(client().getBird({ params: song, query: {} }));
    expect(error).toMatchObject({ code: 'CLIENT_UNEXPECTED_ANSWER', message: expect.stringMatching(message) });
  });

  it('quotes little of a long answer that is not ours', async () => {
    answer = text(500, 'x'.repeat(100_000));
    expect((await refusal(client().getText())).message.length).toBeLessThan(400);
  });

  it('names the server that it cannot reach, and why', async () => {
    const closed = createServer();
    const left = await listen(closed);
    await close(closed);
    const nobody = createClient(routes, { url: left });
    const error = await refusal(nobody.getText());
    expect(error).toMatchObject({ code: 'CLIENT_SERVER_UNREACHABLE', retryable: true });
    expect(error.message).toMatch(new RegExp(`^The server at ${left} cannot be reached: .*ECONNREFUSED`));
  });

  it('takes a server that goes away in the middle of its answer for unreachable', async () => {
    answer = (response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{"ok"', () => response.destroy());
    };
    const error = await refusal(client().getBird({ params: song, query: {} }));
    expect(hasCode(error, 'CLIENT_SERVER_UNREACHABLE')).toBe(true);
  });

  it('names an address that is none before it tries', async () => {
    const error = await refusal(createClient(routes, { url: '127.0.0.1:7070' }).getText());
    expect(error).toMatchObject({
      code: 'CLIENT_REQUEST_UNSENDABLE',
      message: expect.stringContaining('127.0.0.1:7070'),
    });
  });

  it('sends with the fetch it is given', async () => {
    const asked: string[] = [];
    const own = createClient(routes, {
      url: 'http://example.test',
      fetch: async (address) => {
        asked.push(address instanceof URL ? address.href : '');
        return new Response('hello');
      },
    });
    await expect(own.getText()).resolves.toBe('hello');
    expect(asked).toEqual(['http://example.test/text']);
  });
});
