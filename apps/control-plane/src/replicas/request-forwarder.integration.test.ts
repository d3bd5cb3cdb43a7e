import {
  Agent,
  createServer,
  request as ask,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { hasBody, ResponseSink, toErrorAnswer } from '@drover/http-edge';
import { systemClock, systemRandomness } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import type { ReplicaObservation } from './observations.js';
import { notOwnerHeader, wasForwarded } from './forward-headers.js';
import type { ForwardSource } from './forwarding.js';
import { RequestForwarder, type Reroute } from './request-forwarder.js';

/** A port that no test listens on: one that was closed may be given to the next server, of this test or of another. */
const nowhere = 'http://127.0.0.1:1';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

async function listen(handler: RequestListener): Promise<{ url: string; server: Server; sockets: Set<Socket> }> {
  const server = createServer(handler);
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(
    () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server, sockets };
}

interface Front {
  readonly url: string;
  readonly seen: ReplicaObservation[];
  readonly doubts: number;
  readonly server: Server;
  readonly forwarder: RequestForwarder;
}

interface FrontOptions {
  readonly readFirst?: boolean;
  readonly rerouteWithinMs?: number;
  readonly reroute?: Reroute;
}

/** A replica that forwards everything to `owner`, with the body read before if `readFirst`. */
async function front(
  owner: string,
  { readFirst = false, rerouteWithinMs = 2_000, reroute }: FrontOptions = {},
): Promise<Front> {
  const seen: ReplicaObservation[] = [];
  let doubts = 0;
  const forwarder = new RequestForwarder({
    replicaId: 'front',
    unreachable: () => (doubts += 1),
    rerouteWithinMs,
    clock: systemClock,
    randomness: systemRandomness,
    observe: (observation) => seen.push(observation),
  });
  closing.push(() => forwarder.stop());
  const { url, server } = await listen((request, response) => {
    const source = sourceOf(request, response);
    if (readFirst)
      void readAll(request).then((body) => forwarder.forward({ ...source, body: Buffer.from(body) }, owner, reroute));
    else forwarder.forward(source, owner, reroute);
  });
  return {
    url,
    seen,
    server,
    forwarder,
    get doubts() {
      return doubts;
    },
  };
}

function sourceOf(request: IncomingMessage, response: ServerResponse): ForwardSource {
  const { method = '', url = '', headers, rawHeaders } = request;
  const isChunked = headers['transfer-encoding'] !== undefined;
  return {
    request: { method, url, headers, rawHeaders },
    body: hasBody(request) ? { source: request, isChunked } : undefined,
    sink: new ResponseSink(response),
    refuse: (error) => {
      const answer = toErrorAnswer(error, 'request-1');
      response.writeHead(answer.status, answer.headers).end(answer.body);
    },
  };
}

async function readAll(message: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of message) text += String(chunk);
  return text;
}

/** Answers with what reached it. */
const echo: RequestListener = (request, response) => {
  void readAll(request).then((body) => {
    response.writeHead(201, 'Made', ['set-cookie', 'a=1', 'set-cookie', 'b=2', 'x-Home', 'yes']);
    response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body }));
  });
};

interface Echo {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

describe('the forwarder', () => {
  it.each([false, true])(
    'forwards a request as it came, and the answer back (body read before: %s)',
    async (readFirst) => {
      const owner = await listen(echo);
      const { url } = await front(owner.url, { readFirst });
      const answer = await fetch(`${url}/v1/functions/f/invoke?x=%2F`, {
        method: 'POST',
        headers: { authorization: 'Bearer k', 'x-mine': 'ä', 'content-type': 'application/json' },
        body: '{"n":1}',
      });
      expect([answer.status, answer.statusText]).toEqual([201, 'Made']);
      expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
      const seen = (await answer.json()) as Echo;
      expect(seen).toMatchObject({ method: 'POST', url: '/v1/functions/f/invoke?x=%2F', body: '{"n":1}' });
      expect(seen.headers).toMatchObject({
        authorization: 'Bearer k',
        'x-mine': 'ä',
        'content-length': '7',
        host: new URL(url).host,
        'x-drover-forwarded': 'front',
      });
    },
  );

  it('marks what it forwards, whatever the client sends, without the headers of the connection', async () => {
    const owner = await listen(echo);
    const { url } = await front(owner.url);
    const { headers } = await new Promise<Echo>((resolve, reject) => {
      const outgoing = ask(
        `${url}/x`,
        {
          method: 'POST',
          headers: {
            connection: 'keep-alive, x-private',
            'x-private': '1',
            te: 'trailers',
            expect: '100-continue',
            'x-drover-forwarded': 'me',
            'transfer-encoding': 'chunked',
          },
        },
        (answer) => void readAll(answer).then((text) => resolve(JSON.parse(text) as Echo)),
      );
      outgoing.on('error', reject).end('abc');
    });
    expect(headers['x-drover-forwarded']).toBe('front');
    expect(Object.keys(headers)).not.toEqual(expect.arrayContaining(['x-private']));
    expect(headers.te).toBeUndefined();
    expect(wasForwarded({ headers })).toBe(true);
    expect(wasForwarded({ headers: {} })).toBe(false);
  });

  it('passes long bodies both ways without holding them', async () => {
    const size = 8 * 1024 * 1024;
    const owner = await listen((request, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
      request.pipe(response);
    });
    const { url } = await front(owner.url);
    const answer = await fetch(url, { method: 'POST', body: Buffer.alloc(size, 'a') });
    const body = Buffer.from(await answer.arrayBuffer());
    expect(body.length).toBe(size);
    expect(body.every((byte) => byte === 97)).toBe(true);
  });

  it('reads from the owner only as fast as the client reads', async () => {
    let written = 0;
    const owner = await listen((_request, response) => {
      const more = (): void => {
        while (written < 200_000_000 && response.write(Buffer.alloc(65_536))) written += 65_536;
      };
      response.on('drain', more);
      more();
    });
    const { url } = await front(owner.url);
    const outgoing = ask(url);
    const answer = await new Promise<IncomingMessage>((resolve) => outgoing.once('response', resolve).end());
    answer.pause();
    let before = -1;
    await eventually(async () => {
      const standsStill = written === before;
      before = written;
      await new Promise((resolve) => setTimeout(resolve, 100));
      return standsStill;
    });
    expect(written).toBeLessThan(50_000_000);
    outgoing.destroy();
    await eventually(() => expect(owner.sockets.size).toBe(0));
  });

  it('keeps connections alive, to the client and to the owner', async () => {
    let connections = 0;
    const owner = await listen((_request, response) => void response.end('ok'));
    owner.server.on('connection', () => (connections += 1));
    let clients = 0;
    const { url, server } = await front(owner.url);
    server.on('connection', () => (clients += 1));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let call = 0; call < 5; call += 1) {
      const answer = await new Promise<IncomingMessage>((resolve) =>
        ask(url, { agent }).once('response', resolve).end(),
      );
      expect(await readAll(answer)).toBe('ok');
    }
    agent.destroy();
    expect(connections).toBe(1);
    expect(clients).toBe(1);
  });

  it.each([false, true])(
    'refuses with 503 when the owner does not listen (body read before: %s)',
    async (readFirst) => {
      const stage = await front(nowhere, { readFirst });
      const answer = await fetch(stage.url, { method: 'POST', body: 'x'.repeat(100_000) });
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).toBe('1');
      expect(await answer.json()).toEqual({
        error: 'HOME_UNREACHABLE',
        message: expect.stringMatching(/try again/i) as string,
        requestId: answer.headers.get('x-request-id'),
      });
      expect(stage.seen).toEqual([{ kind: 'replica.unreachable', url: nowhere, reason: 'ECONNREFUSED' }]);
      expect(stage.doubts).toBe(1);
    },
  );

  it('answers 502 instead of sending a request twice that may have begun', async () => {
    let calls = 0;
    const owner = await listen((request) => {
      calls += 1;
      request.socket.destroy();
    });
    const { url } = await front(owner.url, { readFirst: true });
    const answer = await fetch(url, { method: 'POST', body: 'x' });
    expect([answer.status, calls]).toEqual([502, 1]);
    expect(await answer.json()).toMatchObject({ error: 'HOME_BROKE_OFF' });
  });

  it('sends a repeatable request once more when the connection broke', async () => {
    let calls = 0;
    const owner = await listen((request, response) => {
      calls += 1;
      if (calls === 1) request.socket.destroy();
      else response.end('second');
    });
    const { url } = await front(owner.url);
    expect(await (await fetch(url)).text()).toBe('second');
    expect(calls).toBe(2);
  });

  it('breaks the connection when the owner breaks off in the middle of its answer', async () => {
    const owner = await listen((request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => request.socket.destroy());
    });
    const { url } = await front(owner.url);
    const answer = await fetch(url);
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow('terminated');
  });

  it('closes the connection to the owner when the client leaves', async () => {
    let arrived = false;
    const owner = await listen(() => {
      arrived = true;
    });
    const { url } = await front(owner.url);
    const gone = new AbortController();
    const answer = fetch(url, { signal: gone.signal });
    await eventually(() => arrived);
    gone.abort();
    await expect(answer).rejects.toThrow('aborted');
    await eventually(() => expect(owner.sockets.size).toBe(0));
  });

  const notOwner: RequestListener = (request, response) => {
    request.resume();
    response
      .writeHead(503, { [notOwnerHeader]: '1', 'content-type': 'application/json' })
      .end('{"error":"NOT_AT_HOME"}');
  };

  it.each(['POST', 'GET'])(
    'goes on to where the owner has moved with a %s that no replica has started',
    async (method) => {
      const former = await listen(notOwner);
      const present = await listen(echo);
      const { url } = await front(former.url, { reroute: async () => present.url });
      const body = method === 'POST' ? 'x'.repeat(100_000) : undefined;
      const answer = await fetch(url, { method, ...(body !== undefined && { body }) });
      expect(answer.status).toBe(201);
      expect(answer.headers.get(notOwnerHeader)).toBeNull();
      expect(await answer.json()).toMatchObject({ method, body: body ?? '' });
    },
  );

  it('locates the owner again while none can be reached', async () => {
    const present = await listen(echo);
    let asked = 0;
    const stage = await front(nowhere, { reroute: async () => ((asked += 1) < 4 ? nowhere : present.url) });
    const answer = await fetch(stage.url, { method: 'POST', body: 'x' });
    expect([answer.status, asked, stage.doubts]).toEqual([201, 4, 4]);
    expect(stage.seen).toEqual([]);
  });

  it('gives up in time, or when there is no owner', async () => {
    const ever = await front(nowhere, { rerouteWithinMs: 300, reroute: async () => nowhere });
    const none = await front(nowhere, { reroute: async () => undefined });
    for (const { url } of [ever, none]) {
      const answer = await fetch(url, { method: 'POST', body: 'x' });
      expect(answer.status).toBe(503);
      expect(await answer.json()).toMatchObject({ error: 'HOME_UNREACHABLE' });
    }
  });

  it('sends to no other owner what may have begun, nor what it does not hold', async () => {
    const breaking = await listen((request) => void request.socket.destroy());
    const never: Reroute = () => expect.unreachable();
    const broken = await front(breaking.url, { reroute: never });
    expect((await fetch(broken.url, { method: 'POST', body: 'x' })).status).toBe(502);
    const former = await listen(notOwner);
    const long = await front(former.url, { reroute: never });
    const answer = await fetch(long.url, { method: 'POST', body: Buffer.alloc(300_000) });
    expect([answer.status, await answer.text()]).toEqual([503, '{"error":"NOT_AT_HOME"}']);
  });

  it('gives up a replica that is gone but keeps its connections: repeatable requests go to the next owner', async () => {
    const waiting: IncomingMessage[] = [];
    const frozen = await listen((request) => void waiting.push(request));
    const present = await listen(echo);
    const { url, forwarder } = await front(frozen.url, { reroute: async () => present.url });
    const asked = ['GET', 'POST'].map((method) => fetch(url, { method, ...(method === 'POST' && { body: 'x' }) }));
    await eventually(() => expect(waiting).toHaveLength(2));
    forwarder.abandon(present.url);
    forwarder.abandon(frozen.url);
    const [repeated, other] = await Promise.all(asked);
    expect(repeated?.status).toBe(201);
    expect([other?.status, await other?.json()]).toMatchObject([502, { error: 'HOME_BROKE_OFF' }]);
    await eventually(() => expect(frozen.sockets.size).toBe(0));
  });

  it('answers without a body where there is none', async () => {
    const owner = await listen((request, response) => {
      response.writeHead(request.method === 'HEAD' ? 200 : 204, { 'x-owner': '1' }).end();
    });
    const { url } = await front(owner.url);
    for (const method of ['HEAD', 'DELETE']) {
      const answer = await fetch(url, { method });
      expect([answer.status, answer.headers.get('x-owner'), await answer.text()]).toEqual([
        method === 'HEAD' ? 200 : 204,
        '1',
        '',
      ]);
    }
  });
});
