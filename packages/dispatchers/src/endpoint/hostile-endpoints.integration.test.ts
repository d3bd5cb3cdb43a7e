import { systemClock } from '@drover/service-kit';
import { eventually, FakeClock, seededRandomness } from '@drover/testkit';
import fc from 'fast-check';
import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defaultBreakerPolicy } from '../outbound/circuit-breaker.js';
import { EndpointGuard } from '../outbound/endpoint-guard.js';
import { EndpointHosts } from '../outbound/endpoint-hosts.js';
import { ForeignEndpoint } from '../testing/foreign-endpoint.js';
import type { AttemptResult } from '../dispatcher.js';
import { EndpointDispatcher } from './endpoint-dispatcher.js';
import { attemptOf, endpointFunction } from '../testing/attempts.js';

const guard = new EndpointGuard({ hosts: EndpointHosts.parse('loopback'), clock: systemClock });
const good = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1\r\n\r\n1';
const transient = { kind: 'failed', code: 'POOL_ERROR', transient: true };
const final = { kind: 'failed', code: 'POOL_ERROR', transient: false };

let pool: EndpointDispatcher;
let endpoint: ForeignEndpoint | undefined;
beforeEach(() => {
  pool = new EndpointDispatcher({
    guard,
    clock: systemClock,
    randomness: seededRandomness(1),
    observe: () => undefined,
    maxResponseBytes: 65_536,
    // Every call is to reach the endpoint, however the one before it went.
    breaker: { ...defaultBreakerPolicy, failures: Number.POSITIVE_INFINITY, share: undefined },
  });
});
afterEach(async () => {
  await pool.stop();
  // Nothing is left behind at either end, whatever happened between them.
  await eventually(() => (endpoint?.open ?? 0) === 0);
  await endpoint?.close();
  endpoint = undefined;
});

const answers = (text: string) => ForeignEndpoint.raw((socket) => socket.write(text));

interface Hostile {
  readonly does: string;
  readonly endpoint: () => Promise<ForeignEndpoint>;
  readonly result: object;
}

const hostiles: readonly Hostile[] = [
  {
    does: 'resets the connection as soon as it is made',
    endpoint: () => ForeignEndpoint.meeting((socket) => socket.resetAndDestroy()),
    result: transient,
  },
  {
    does: 'closes the connection as soon as it is made',
    endpoint: () => ForeignEndpoint.meeting((socket) => socket.destroy()),
    result: transient,
  },
  {
    does: 'resets the connection instead of an answer',
    endpoint: () => ForeignEndpoint.raw((socket) => socket.resetAndDestroy()),
    result: transient,
  },
  {
    does: 'closes after half of the headers',
    endpoint: () => ForeignEndpoint.raw((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-ty')),
    result: transient,
  },
  {
    does: 'resets after the headers',
    endpoint: () =>
      ForeignEndpoint.raw((socket) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"a":', () =>
          socket.resetAndDestroy(),
        );
      }),
    result: transient,
  },
  {
    does: 'ends before the length it promised',
    endpoint: () =>
      ForeignEndpoint.raw((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"a":1}')),
    result: transient,
  },
  {
    does: 'ends in the middle of a chunk',
    endpoint: () =>
      ForeignEndpoint.raw((socket) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\n{"a":1}')),
    result: transient,
  },
  { does: 'answers in another tongue', endpoint: () => answers('220 mail.test ESMTP\r\n'), result: final },
  { does: 'answers garbage', endpoint: () => answers('\u0000\u0001\u0002'.repeat(100)), result: final },
  { does: 'answers with a status that is none', endpoint: () => answers('HTTP/1.1 9999 Hm\r\n\r\n'), result: final },
  {
    does: 'answers with a length that is none',
    endpoint: () => answers('HTTP/1.1 200 OK\r\ncontent-length: minus\r\n\r\n'),
    result: final,
  },
  {
    does: 'answers with two lengths',
    endpoint: () => answers('HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n12'),
    result: transient,
  },
  {
    does: 'answers with a length and chunks',
    endpoint: () =>
      answers('HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n1\r\n1\r\n0\r\n\r\n'),
    result: transient,
  },
  {
    does: 'answers with huge headers',
    endpoint: () => answers(`HTTP/1.1 200 OK\r\nx-much: ${'x'.repeat(100_000)}\r\ncontent-length: 0\r\n\r\n`),
    result: final,
  },
  {
    does: 'promises more than is taken',
    endpoint: () => answers(`HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n${'x'.repeat(70_000)}`),
    result: final,
  },
  {
    does: 'streams for ever',
    endpoint: () =>
      ForeignEndpoint.raw((socket) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n');
        const more = (): void => {
          if (!socket.destroyed) socket.write('x'.repeat(4_096), more);
        };
        more();
      }),
    result: final,
  },
  {
    does: 'switches protocols unasked',
    endpoint: () => answers('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n'),
    result: transient,
  },
  {
    does: 'says JSON and sends none',
    endpoint: () => answers('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5\r\n\r\n{"a":'),
    result: final,
  },
  {
    does: 'redirects',
    endpoint: () => answers('HTTP/1.1 307 Go\r\nlocation: http://127.0.0.1/\r\ncontent-length: 0\r\n\r\n'),
    result: final,
  },
  {
    does: 'answers after hints, one byte at a time',
    endpoint: () =>
      ForeignEndpoint.raw((socket) => {
        const bytes = `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${good}`.split('');
        const drip = (): void => {
          const byte = bytes.shift();
          if (byte !== undefined) socket.write(byte, () => setImmediate(drip));
        };
        drip();
      }),
    result: { kind: 'success', output: { json: '1' } },
  },
  {
    does: 'answers in chunks of one byte',
    endpoint: () =>
      answers(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\n7\r\n'.repeat(40_000)}0\r\n\r\n`,
      ),
    result: { kind: 'success', output: { json: '7'.repeat(40_000) } },
  },
  {
    does: 'closes after its answer, as it says',
    endpoint: () => ForeignEndpoint.raw((socket) => socket.end(good.replace('OK', 'OK\r\nconnection: close'))),
    result: { kind: 'success', output: { json: '1' } },
  },
  {
    does: 'ends its answer by closing',
    endpoint: () =>
      ForeignEndpoint.raw((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nbye')),
    result: { kind: 'success', output: { json: '"bye"' } },
  },
  {
    does: 'answers twice',
    endpoint: () => answers(good + good),
    result: { kind: 'success', output: { json: '1' } },
  },
];

describe('an endpoint that', () => {
  it.each(hostiles.map((hostile) => [hostile.does, hostile] as const))('%s', async (_does, hostile) => {
    endpoint = await hostile.endpoint();
    const definition = endpointFunction(endpoint.url);
    for (let round = 0; round < 3; round += 1) {
      const result = await pool.dispatch(attemptOf(definition));
      expect(result).toMatchObject(hostile.result);
      // The endpoint's own origin may be named, and nothing else of where things are.
      if (result.kind === 'failed')
        expect(result.message.replace(`http://127.0.0.1:${endpoint.port}`, '')).not.toMatch(/\d\.\d/);
    }
  });

  it('is not there refuses, and may be back later', async () => {
    const gone = await ForeignEndpoint.of(createServer());
    const { url } = gone;
    await gone.close();
    expect(await pool.dispatch(attemptOf(endpointFunction(url)))).toMatchObject({
      ...transient,
      message: `${new URL(url).origin} refused the connection`,
    });
  });

  it('has answered nonsense serves the next call', async () => {
    let requests = 0;
    endpoint = await ForeignEndpoint.raw((socket) => socket.write(requests++ % 2 === 0 ? 'nonsense\r\n\r\n' : good));
    const definition = endpointFunction(endpoint.url);
    for (let round = 0; round < 5; round += 1) {
      expect(await pool.dispatch(attemptOf(definition))).toMatchObject(final);
      expect(await pool.dispatch(attemptOf(definition))).toMatchObject({ kind: 'success' });
    }
  });

  it('smuggles a second answer does not reach the next call with it', async () => {
    let requests = 0;
    const secret = good.replace(/1$/, '9');
    endpoint = await ForeignEndpoint.raw((socket) => socket.write(requests++ === 0 ? good + secret : good));
    const definition = endpointFunction(endpoint.url);
    for (let round = 0; round < 3; round += 1)
      expect(await pool.dispatch(attemptOf(definition))).toEqual({ kind: 'success', output: { json: '1' } });
  });

  it.each(['timeout', 'cancelled', 'completed', 'stopping'] as const)(
    'hangs is let go of when the call is over: %s',
    async (reason) => {
      endpoint = await ForeignEndpoint.raw(() => undefined);
      const attempt = attemptOf(endpointFunction(endpoint.url));
      const call = pool.dispatch(attempt);
      await eventually(() => endpoint?.open === 1);
      attempt.abandon(reason);
      expect(await call).toMatchObject(transient);
      await eventually(() => endpoint?.open === 0);
      attempt.abandon('cancelled');
    },
  );

  it('hangs in the middle of its answer is let go of, too', async () => {
    endpoint = await answers('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12');
    const attempt = attemptOf(endpointFunction(endpoint.url));
    const call = pool.dispatch(attempt);
    await eventually(() => endpoint?.open === 1);
    attempt.abandon('timeout');
    expect(await call).toMatchObject(transient);
    await eventually(() => endpoint?.open === 0);
  });

  it('is not called for an attempt that was abandoned before', async () => {
    endpoint = await answers(good);
    const attempt = {
      ...attemptOf(endpointFunction(endpoint.url)),
      onAbandoned: (told: (reason: 'cancelled') => void) => told('cancelled'),
    };
    await pool.dispatch(attempt);
    expect(endpoint.connections).toBe(0);
  });
});

describe('answers that chance has changed', () => {
  it('are answers or faults, and the call after them is served', async () => {
    const valid = [
      good,
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n',
      `HTTP/1.1 100 Continue\r\n\r\n${good}`,
      'HTTP/1.1 500 No\r\ncontent-length: 14\r\nconnection: close\r\n\r\n{"error":"no"}',
    ];
    const change = fc.record({ at: fc.nat(), drop: fc.nat(8), put: fc.string({ unit: 'binary', maxLength: 8 }) });
    const script = fc.record({
      base: fc.constantFrom(...valid),
      changes: fc.array(change, { maxLength: 6 }),
      ends: fc.boolean(),
    });
    let next: { readonly text: string; readonly ends: boolean } | undefined;
    endpoint = await ForeignEndpoint.raw((socket) => {
      const now = next ?? { text: good, ends: false };
      socket.write(now.text, 'latin1');
      if (now.ends) socket.end();
    });
    const definition = endpointFunction(endpoint.url);
    await fc.assert(
      fc.asyncProperty(script, async ({ base, changes, ends }) => {
        let text = base;
        for (const { at, drop, put } of changes) {
          const place = at % (text.length + 1);
          text = text.slice(0, place) + put + text.slice(place + drop);
        }
        next = { text, ends };
        const attempt = attemptOf(definition);
        const call = pool.dispatch(attempt);
        // Some changes make an answer that never ends.
        const timer = setTimeout(() => attempt.abandon('timeout'), 50);
        const result = await call;
        clearTimeout(timer);
        expect(['success', 'failed', 'timeout', 'handed-over']).toContain(result.kind);
        next = undefined;
        // The one after an answer that was too long may find the rest of it, and says so.
        await eventually(async () => (await pool.dispatch(attemptOf(definition))).kind === 'success');
      }),
      { numRuns: 150 },
    );
  });
});

describe('an endpoint that cannot be reached', () => {
  it('is left alone for a while, then asked by one call, then by all', async () => {
    const moves: string[] = [];
    const clock = new FakeClock();
    let isUp = false;
    const breaking = new EndpointDispatcher({
      guard: new EndpointGuard({
        hosts: EndpointHosts.parse('loopback'),
        clock,
        lookup: async () => {
          if (!isUp) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
          return [{ address: '127.0.0.1', family: 4 }];
        },
      }),
      clock,
      randomness: { fraction: () => 1 },
      observe: (observation) => moves.push(observation.to),
      breaker: { failures: 3, pause: { firstMs: 1_000, maxMs: 8_000, factor: 2 }, probeMs: 500 },
    });
    endpoint = await answers(good);
    const definition = endpointFunction(`http://functions.test:${endpoint.port}/`);
    const call = (): Promise<AttemptResult> => breaking.dispatch(attemptOf(definition));
    for (let failure = 0; failure < 3; failure += 1) expect(await call()).toMatchObject(transient);
    const before = endpoint.connections;
    expect(await call()).toMatchObject({
      ...transient,
      retryAfterMs: 1_000,
      queuePauseMs: 1_000,
      wasTurnedAway: true,
    });
    await clock.advance(999);
    expect(await call()).toMatchObject({ ...transient, retryAfterMs: 1 });
    expect(endpoint.connections).toBe(before);
    await clock.advance(1);
    isUp = true;
    const [probe, other] = await Promise.all([call(), call()]);
    expect(probe).toMatchObject({ kind: 'success' });
    expect(other).toMatchObject({ ...transient, retryAfterMs: 500 });
    for (const result of await Promise.all([call(), call(), call()])) expect(result).toMatchObject({ kind: 'success' });
    expect(moves).toEqual(['open', 'half-open', 'closed']);
    await breaking.stop();
  });

  it('is reachable as soon as it takes a connection, however long its answer takes', async () => {
    const moves: string[] = [];
    const clock = new FakeClock();
    let isUp = false;
    const breaking = new EndpointDispatcher({
      guard: new EndpointGuard({
        hosts: EndpointHosts.parse('loopback'),
        clock,
        lookup: async () => {
          if (!isUp) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
          return [{ address: '127.0.0.1', family: 4 }];
        },
      }),
      clock,
      randomness: { fraction: () => 1 },
      observe: (observation) => moves.push(observation.to),
    });
    endpoint = await ForeignEndpoint.raw(() => undefined);
    const definition = endpointFunction(`http://functions.test:${endpoint.port}/`);
    const failures = Array.from({ length: 5 }, () => breaking.dispatch(attemptOf(definition)));
    for (const failure of failures) expect(await failure).toMatchObject({ wasTurnedAway: true, wasNotSent: true });
    isUp = true;
    await clock.advance(500);
    const waiting = [breaking.dispatch(attemptOf(definition))];
    await eventually(() => expect(moves).toEqual(['open', 'half-open', 'closed']));
    waiting.push(breaking.dispatch(attemptOf(definition)));
    await eventually(() => endpoint?.open === 2);
    await breaking.stop();
    for (const result of waiting) expect(await result).not.toHaveProperty('queuePauseMs');
  });

  it('is not one that some inputs break: the others are called', async () => {
    const moves: string[] = [];
    const breaking = new EndpointDispatcher({
      guard,
      clock: systemClock,
      randomness: { fraction: () => 1 },
      observe: (observation) => moves.push(observation.to),
    });
    endpoint = await ForeignEndpoint.raw((socket, request) =>
      request.includes('poison') ? socket.resetAndDestroy() : socket.write(good),
    );
    const definition = endpointFunction(endpoint.url);
    const call = (json: string): Promise<AttemptResult> =>
      breaking.dispatch(attemptOf(definition, { payload: { json } }));
    for (let n = 0; n < 30; n += 1) expect(await call('"poison"')).toMatchObject(transient);
    for (let n = 0; n < 50; n += 1) expect(await call('1')).toMatchObject({ kind: 'success' });
    expect(moves).toEqual([]);
    await breaking.stop();
  });

  it('that has not seen the call says so; one that may have, does not', async () => {
    endpoint = await ForeignEndpoint.raw((socket) => socket.resetAndDestroy());
    const { url } = endpoint;
    const call = (): Promise<AttemptResult> => pool.dispatch(attemptOf(endpointFunction(url)));
    expect(await call()).not.toHaveProperty('wasTurnedAway');
    await endpoint.close();
    expect(await call()).toMatchObject({ ...transient, wasTurnedAway: true });
    expect(await call()).not.toHaveProperty('queuePauseMs');
    for (const status of [429, 502, 503]) {
      endpoint = await answers(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
      const result = await pool.dispatch(attemptOf(endpointFunction(endpoint.url)));
      expect(result).toMatchObject({ ...transient, wasTurnedAway: true });
      await endpoint.close();
    }
  });

  it('within the time of the call, or of a connection, counts as one', async () => {
    const clock = new FakeClock();
    const lost = new EndpointGuard({
      hosts: EndpointHosts.parse('loopback'),
      clock: systemClock,
      lookup: () => new Promise(() => undefined),
    });
    const breaking = new EndpointDispatcher({
      guard: lost,
      clock,
      randomness: { fraction: () => 1 },
      observe: () => undefined,
    });
    const definition = endpointFunction('http://nowhere.test/');
    const slow = breaking.dispatch(attemptOf(definition));
    await clock.advance(5_000);
    expect(await slow).toMatchObject({ ...transient, message: 'http://nowhere.test could not be reached in time' });
    for (let failure = 0; failure < 4; failure += 1) {
      const attempt = attemptOf(definition);
      const call = breaking.dispatch(attempt);
      attempt.abandon('timeout');
      await call;
    }
    expect(await breaking.dispatch(attemptOf(definition))).toMatchObject({ ...transient, retryAfterMs: 500 });
    await breaking.stop();
    expect(clock.pending).toBe(0);
  });
});
