import { createServer } from 'node:http';
import { HttpPort, type FastLaneExchange, type FastLaneRequest, type PortLimits } from '@drover/http-edge';
import { systemClock } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { attemptOf as makeAttempt, definitionOf, type TestAttempt } from '../testing/attempts.js';
import { AppDispatcher } from './app-dispatcher.js';
import { RuntimeConnection } from './runtime-connection.js';

const definition = definitionOf({
  mode: 'APP',
  timeoutMs: 60_000,
  appFunction: { application: 'shop', name: 'hello' },
});
const attemptOf = (json = '1'): TestAttempt => makeAttempt(definition, { payload: { json } });

const limits: PortLimits = {
  headerBytes: 16_384,
  headers: 100,
  addressBytes: 8_192,
  firstByteMs: 5_000,
  headersMs: 15_000,
  requestMs: 30_000,
  writeMs: 30_000,
  keepAliveMs: 60_000,
  checkEveryMs: 1_000,
  connections: 1_000,
  connectionsPerClient: 1_000,
  reservedConnections: 8,
};

interface Held {
  readonly request: FastLaneRequest;
  readonly exchange: FastLaneExchange;
  readonly signal: AbortSignal;
}

/** A runtime that serves frames. It holds calls until they are released, and knows its connections. */
class FramedRuntime {
  readonly held: Held[] = [];
  connections = 0;
  readonly port: HttpPort;

  constructor() {
    const server = createServer((request, response) => {
      let length = 0;
      request.on('data', (bytes: Buffer) => (length += bytes.length)).on('end', () => response.end(`"node ${length}"`));
    });
    this.port = new HttpPort(server, {
      host: '127.0.0.1',
      port: 0,
      limits,
      isFramed: () => true,
      serveFastLane: (request, exchange) => this.held.push({ request, exchange, signal: exchange.signal }) > 0,
      clock: systemClock,
    });
    server.on('connection', () => (this.connections += 1));
  }

  release(): void {
    for (const { request, exchange } of this.held.splice(0)) exchange.answer(200, [], request.body);
  }
}

async function withRuntime(
  use: (parts: { runtime: FramedRuntime; dispatcher: AppDispatcher; share: () => Promise<void> }) => Promise<void>,
): Promise<void> {
  const runtime = new FramedRuntime();
  await runtime.port.listen();
  const connection = new RuntimeConnection({
    runtimeUrl: runtime.port.url,
    runtimeUrlFile: undefined,
    masterKey: undefined,
    clock: systemClock,
  });
  const dispatcher = new AppDispatcher({ connection, discovered: { find: () => undefined, isKnown: true } });
  /** Calls at the same time until further ones need no connection of their own. */
  const share = async (): Promise<void> => {
    await eventually(async () => {
      const before = runtime.connections;
      const results = Array.from({ length: 40 }, () => dispatcher.dispatch(attemptOf()));
      await eventually(() => runtime.held.length === 40);
      runtime.release();
      await Promise.all(results);
      return runtime.connections === before;
    });
  };
  try {
    await use({ runtime, dispatcher, share });
  } finally {
    await connection.stop();
    await runtime.port.stop();
  }
}

describe('calls of a runtime on this machine', () => {
  it('share a connection once many are in flight, and larger ones have their own', async () => {
    await withRuntime(async ({ runtime, dispatcher, share }) => {
      await share();
      const before = runtime.connections;
      const results = Array.from({ length: 500 }, (_, index) => dispatcher.dispatch(attemptOf(`{"n": ${index}}`)));
      await eventually(() => runtime.held.length === 500);
      expect(runtime.connections).toBe(before);
      runtime.release();
      expect(await Promise.all(results)).toEqual(
        Array.from({ length: 500 }, (_, index) => ({ kind: 'success', output: { json: `{"n": ${index}}` } })),
      );
      expect(await dispatcher.dispatch(attemptOf(`"${'x'.repeat(70_000)}"`))).toMatchObject({
        output: { json: '"node 70002"' },
      });
    });
  });

  it('are cancelled one by one', async () => {
    await withRuntime(async ({ runtime, dispatcher, share }) => {
      await share();
      const abandoned = attemptOf('"abandoned"');
      const results = [dispatcher.dispatch(abandoned), dispatcher.dispatch(attemptOf('"kept"'))];
      await eventually(() => runtime.held.length === 2);
      abandoned.abandon();
      expect(await results[0]).toMatchObject({ kind: 'failed', code: 'APP_UNAVAILABLE' });
      await eventually(() => runtime.held[0]?.signal.aborted === true);
      expect(runtime.held[1]?.signal.aborted).toBe(false);
      runtime.release();
      expect(await results[1]).toMatchObject({ kind: 'success' });
    });
  });

  it('may have been tried if the runtime goes away', async () => {
    await withRuntime(async ({ runtime, dispatcher, share }) => {
      await share();
      const results = [dispatcher.dispatch(attemptOf()), dispatcher.dispatch(attemptOf())];
      await eventually(() => runtime.held.length === 2);
      await runtime.port.stop();
      for (const result of await Promise.all(results)) {
        expect(result).toMatchObject({ kind: 'failed', code: 'APP_UNAVAILABLE', transient: true });
        expect(result).not.toHaveProperty('wasNotTried');
      }
      expect(await dispatcher.dispatch(attemptOf())).toMatchObject({ code: 'APP_UNAVAILABLE', wasNotTried: true });
    });
  });

  it('are answered before a runtime that drains is gone', async () => {
    await withRuntime(async ({ runtime, dispatcher, share }) => {
      await share();
      const result = dispatcher.dispatch(attemptOf());
      await eventually(() => runtime.held.length === 1);
      const drained = runtime.port.drain(new AbortController().signal);
      runtime.release();
      expect(await result).toMatchObject({ kind: 'success' });
      await drained;
    });
  });
});
