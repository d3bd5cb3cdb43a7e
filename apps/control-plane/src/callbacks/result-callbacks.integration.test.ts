import { defaultTenantId } from '@drover/contracts';
import { eventually, FakeClock } from '@drover/testkit';
import type { IncomingHttpHeaders } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EndpointGuard } from '@drover/dispatchers';
import { EndpointHosts } from '@drover/dispatchers/testing';
import { ForeignEndpoint } from '@drover/dispatchers/testing';
import { ResultCallbacks, type ResultCallbacksOptions } from './result-callbacks.js';
import type { ResultDelivery } from './result-delivery.js';

interface Received {
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

let clock: FakeClock;
let ends: string[];
let received: Received[];
/** What the receiver answers next; the last one for ever. Nothing: it hangs. */
let answers: (number | undefined | 'reset')[];
let receiver: ForeignEndpoint;
let callbacks: ResultCallbacks;
let extraHeaders: Readonly<Record<string, string>>;

beforeEach(async () => {
  clock = new FakeClock();
  ends = [];
  received = [];
  answers = [200];
  extraHeaders = {};
  receiver = await ForeignEndpoint.http((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({ url: request.url, headers: request.headers, body: Buffer.concat(chunks).toString() });
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      if (answer === 'reset') request.socket.resetAndDestroy();
      else if (answer !== undefined) response.writeHead(answer, extraHeaders).end('thanks');
    });
  });
  callbacks = make();
});
afterEach(async () => {
  await callbacks.stop();
  // Neither a connection nor a timer outlives a stop.
  await eventually(() => receiver.open === 0 && clock.pending === 0);
  await receiver.close();
});

function make(over: Partial<ResultCallbacksOptions> = {}): ResultCallbacks {
  return new ResultCallbacks({
    guard: new EndpointGuard({ hosts: EndpointHosts.parse('loopback'), clock }),
    secrets: { keysOf: () => Promise.resolve([]) },
    clock,
    randomness: { fraction: () => 1 },
    observe: (o) => ends.push(o.kind === 'callback.given-up' ? `${o.reason} after ${o.tries}` : o.kind),
    ...over,
  });
}

function delivery(over: Partial<ResultDelivery> = {}): ResultDelivery {
  return {
    url: `http://127.0.0.1:${receiver.port}/done?key=1`,
    tenantId: defaultTenantId,
    executionId: '01900000-0000-7000-8000-000000000001',
    functionName: 'hello',
    status: 'success',
    durationMs: 1_234.5,
    body: '{"ok":true}',
    contentType: 'application/json',
    ...over,
  };
}

/** The timers of the pause before the next attempt, and of the connection that is idle meanwhile. */
const timersOfPause = 2;

describe('a result', () => {
  it('is posted with headers about its execution', async () => {
    expect(await callbacks.deliver(delivery())).toBe('delivered');
    expect(received[0]).toMatchObject({ url: '/done?key=1', body: '{"ok":true}' });
    expect(received[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'x-call-id': '01900000-0000-7000-8000-000000000001',
      'x-execution-id': '01900000-0000-7000-8000-000000000001',
      'x-execution-status': 'success',
      'x-function-name': 'hello',
      'x-function-status': '200',
      'x-duration-seconds': '1.234500',
    });
    expect(ends).toEqual(['callback.delivered']);
  });

  it('may be bytes, or nothing, of any type', async () => {
    await callbacks.deliver(delivery({ body: Buffer.from('abc'), contentType: 'image/png' }));
    await callbacks.deliver(delivery({ body: '', contentType: 'text/plain\r\nx-evil: 1' }));
    expect(received.map(({ body, headers }) => [body, headers['content-type']])).toEqual([
      ['abc', 'image/png'],
      ['', 'application/octet-stream'],
    ]);
    expect(received[1]?.headers).not.toHaveProperty('x-evil');
  });

  it.each([
    ['success', undefined, '200'],
    ['success', 404, '404'],
    ['error', undefined, '500'],
    ['timeout', undefined, '408'],
    ['cancelled', undefined, '499'],
  ] as const)('that is %s with %s has the status %s', async (status, statusCode, expected) => {
    await callbacks.deliver(delivery({ status, statusCode }));
    expect(received[0]?.headers['x-function-status']).toBe(expected);
  });

  it('uses the connection of the one before', async () => {
    for (let count = 0; count < 5; count += 1) await callbacks.deliver(delivery());
    expect(receiver.connections).toBe(1);
  });
});

describe('a receiver', () => {
  it.each([[408], [429], [500], [503], ['reset' as const]])(
    'that answers %s is called again, each time later',
    async (answer) => {
      answers = [answer, answer, answer, 200];
      const run = callbacks.deliver(delivery());
      for (const [tries, pauseMs] of [
        [1, 1_000],
        [2, 4_000],
        [3, 16_000],
      ] as const) {
        const timers = answer === 'reset' ? timersOfPause - 1 : timersOfPause;
        await eventually(() => received.length === tries && clock.pending === timers);
        await clock.advance(pauseMs - 1);
        expect(received).toHaveLength(tries);
        await clock.advance(1);
      }
      expect(await run).toBe('delivered');
      expect(received).toHaveLength(4);
      expect(ends).toEqual(['callback.delivered']);
    },
  );

  it('that never accepts is given up after five attempts', async () => {
    answers = [500];
    const run = callbacks.deliver(delivery());
    await eventually(async () => {
      await clock.advance(60_000);
      return ends.length === 1;
    });
    expect(await run).toBe('failed');
    expect(received).toHaveLength(5);
    expect(ends).toEqual(['failed after 5']);
  });

  it('may ask for a delay, up to a limit', async () => {
    answers = [429, 503, 200];
    extraHeaders = { 'retry-after': '7' };
    const run = callbacks.deliver(delivery());
    await eventually(() => received.length === 1 && clock.pending === timersOfPause);
    await clock.advance(6_999);
    expect(received).toHaveLength(1);
    extraHeaders = { 'retry-after': '99999' };
    await clock.advance(1);
    await eventually(() => received.length === 2 && clock.pending === timersOfPause);
    await clock.advance(60_000);
    expect(await run).toBe('delivered');
  });

  it.each([[301], [307], [400], [401], [404], [410]])('that answers %i is not called again', async (status) => {
    answers = [status];
    expect(await callbacks.deliver(delivery())).toBe('refused');
    expect(received).toHaveLength(1);
    expect(ends).toEqual(['refused after 1']);
  });

  it('that hangs is abandoned after ten seconds, and called again', async () => {
    answers = [undefined, 200];
    const run = callbacks.deliver(delivery());
    await eventually(() => received.length === 1);
    await clock.advance(10_000);
    await eventually(() => receiver.open === 0);
    await clock.advance(1_000);
    expect(await run).toBe('delivered');
  });

  it('that hangs after its status has answered', async () => {
    const hanging = await ForeignEndpoint.raw((socket) =>
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n1'),
    );
    const run = callbacks.deliver(delivery({ url: hanging.url }));
    await eventually(async () => {
      await clock.advance(1_000);
      return ends.length === 1;
    });
    expect(await run).toBe('delivered');
    expect(hanging.connections).toBe(1);
    await eventually(() => hanging.open === 0);
    await hanging.close();
  });

  it('that answers with a large body has accepted all the same', async () => {
    const wordy = await ForeignEndpoint.http((request, response) => {
      request.resume();
      const more = (): void => {
        if (!response.destroyed) response.write('x'.repeat(4_096), more);
      };
      more();
    });
    expect(await callbacks.deliver(delivery({ url: wordy.url }))).toBe('delivered');
    await eventually(() => wordy.open === 0);
    await wordy.close();
  });

  it.each(['http://10.0.0.1/', 'file:///etc/passwd', 'http://a:b@127.0.0.1/', 'nowhere'])(
    'at %s is not called',
    async (url) => {
      expect(await callbacks.deliver(delivery({ url }))).toBe('refused');
      expect(ends).toEqual(['refused after 0']);
    },
  );

  it('whose name resolves to an address that is not public is not called', async () => {
    const lookup = () => Promise.resolve([{ address: '169.254.169.254', family: 4 }]);
    const guard = new EndpointGuard({ hosts: EndpointHosts.parse('loopback'), clock, lookup });
    const guarded = make({ guard });
    expect(await guarded.deliver(delivery({ url: 'http://evil.test/' }))).toBe('refused');
    expect(ends).toEqual(['refused after 1']);
    await guarded.stop();
  });

  it('gets a few at a time, and a slow one delays no other', async () => {
    answers = [undefined];
    const other = await ForeignEndpoint.http((request, response) => request.resume().on('end', () => response.end()));
    const slow = Array.from({ length: 30 }, () => callbacks.deliver(delivery()));
    await eventually(() => received.length === 8);
    expect(await callbacks.deliver(delivery({ url: other.url }))).toBe('delivered');
    expect(receiver.connections).toBe(8);
    answers = [200];
    await clock.advance(10_000);
    await eventually(async () => {
      await clock.advance(1_000);
      return ends.length === 31;
    });
    expect(await Promise.all(slow)).toEqual(Array.from({ length: 30 }, () => 'delivered'));
    await callbacks.stop();
    await other.close();
  });
});

describe('signatures', () => {
  it('are made anew for each attempt, and wait for keys that cannot be read', async () => {
    let keys = (): Promise<Buffer[]> => Promise.reject(new Error('the database is away'));
    const signing = make({ secrets: { keysOf: () => keys() } });
    answers = [500, 200];
    const delivered = signing.deliver(delivery());
    await eventually(() => clock.pending === 1); // the pause alone: there is no connection yet
    expect(received).toEqual([]);
    keys = () => Promise.resolve([Buffer.alloc(32, 1)]);
    await clock.advance(1_000);
    await eventually(() => received.length === 1 && clock.pending === timersOfPause);
    await clock.advance(4_000);
    expect(await delivered).toBe('delivered');
    const [first, second] = received.map(({ headers }) => headers);
    expect(first?.['webhook-id']).toBe(second?.['webhook-id']);
    expect(first?.['webhook-timestamp']).not.toBe(second?.['webhook-timestamp']);
    expect(first?.['webhook-signature']).not.toBe(second?.['webhook-signature']);
    await signing.stop();
  });
});

describe('results under way', () => {
  it('are limited in number and in bytes', async () => {
    answers = [undefined];
    const few = make({ maxWaiting: 2 });
    const waiting = [few.deliver(delivery()), few.deliver(delivery())];
    expect(await few.deliver(delivery())).toBe('full');
    const small = make({ maxWaitingBytes: 20 });
    waiting.push(small.deliver(delivery({ body: 'x'.repeat(15) })));
    expect(await small.deliver(delivery({ body: 'x'.repeat(6) }))).toBe('full');
    expect(ends).toEqual(['full after 0', 'full after 0']);
    await Promise.all([few.stop(), small.stop()]);
    expect(await Promise.all(waiting)).toEqual(['stopping', 'stopping', 'stopping']);
  });

  it('are waited for in a drain, until the deadline, and given up in a stop', async () => {
    answers = [500, undefined];
    const sleeping = callbacks.deliver(delivery());
    await eventually(() => received.length === 1 && clock.pending === timersOfPause);
    const hanging = callbacks.deliver(delivery());
    await eventually(() => received.length === 2);
    const deadline = new AbortController();
    let drained = false;
    const draining = callbacks.drain(deadline.signal).then(() => (drained = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(drained).toBe(false);
    deadline.abort();
    await draining;
    await callbacks.stop();
    expect(await Promise.all([sleeping, hanging])).toEqual(['stopping', 'stopping']);
    expect(ends).toEqual(['stopping after 1', 'stopping after 1']);
    expect(await callbacks.deliver(delivery())).toBe('stopping');
    await callbacks.drain(new AbortController().signal);
  });

  it('may exceed the limit of bytes when it is the only one', async () => {
    const small = make({ maxWaitingBytes: 20 });
    expect([small.hasRoom(0), small.hasRoom(1_000)]).toEqual([true, true]);
    expect(await small.deliver(delivery({ body: 'x'.repeat(1_000) }))).toBe('delivered');
    await small.stop();
  });

  it('with ownership are not given up when it ends, or when there is no room', async () => {
    answers = [500, 500, undefined];
    const few = make({ maxWaiting: 2 });
    const [gone, other] = [new AbortController(), new AbortController()];
    const sleeping = few.deliver(delivery({ ownership: gone.signal }));
    const further = few.deliver(delivery({ ownership: other.signal }));
    const sweep = 1; // of the connections that are idle meanwhile
    await eventually(() => received.length === 2 && clock.pending === 2 + sweep);
    expect(await few.deliver(delivery({ ownership: other.signal }))).toBe('full');
    gone.abort();
    expect(await sleeping).toBe('stopping');
    expect(clock.pending).toBe(1 + sweep);
    await clock.advance(1_000);
    await eventually(() => received.length === 3);
    other.abort();
    await clock.advance(10_000); // its request goes on, and is the last
    expect(await further).toBe('stopping');
    expect(received).toHaveLength(3);
    expect(ends).toEqual(['callback.postponed', 'callback.postponed', 'callback.postponed']);
    await few.stop();
  });

  it('that wait for a place at their receiver are not sent once their ownership ends', async () => {
    answers = [undefined];
    const one = make({ maxPerReceiver: 1 });
    const gone = new AbortController();
    const hanging = one.deliver(delivery());
    const waiting = one.deliver(delivery({ ownership: gone.signal }));
    await eventually(() => received.length === 1);
    gone.abort();
    await clock.advance(10_000); // the first one has timed out, and its place is free
    expect(await waiting).toBe('stopping');
    await one.stop();
    expect(await hanging).toBe('stopping');
    expect(received).toHaveLength(1);
  });
});
