import type { EventStream, StreamEnd, StreamHandlers, StreamingMessageInit } from '@drover/function-rpc';
import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { HostConnection, type HostConnectionParts } from './host-connection.js';
import { HostProperties } from './host-properties.js';

/** As much of a stream as a connection uses. */
class FakeStream {
  readonly sent: StreamingMessageInit[] = [];
  hasEnded = false;
  #handlers: StreamHandlers | undefined;

  start(handlers: StreamHandlers): void {
    this.#handlers = handlers;
  }

  send(message: StreamingMessageInit): boolean {
    this.sent.push(message);
    return true;
  }

  end(): void {
    this.hasEnded = true;
  }

  lose(end: StreamEnd): void {
    this.#handlers?.onEnd(end);
  }
}

function setUp(more: Partial<HostConnectionParts> = {}) {
  const clock = new FakeClock();
  const streams: FakeStream[] = [];
  const printed: string[] = [];
  const lost: string[] = [];
  const host = new HostProperties();
  const state = { refuses: false, dials: 0 };
  const print = (message: string): void => {
    printed.push(message);
  };
  const connection = new HostConnection({
    workerId: 'w',
    requestId: 'r',
    reconnectMs: 10_000,
    firstWithinMs: 0,
    dial: async (signal) => {
      state.dials++;
      signal.throwIfAborted();
      if (state.refuses) throw new Error('refused');
      const stream = new FakeStream();
      streams.push(stream);
      return stream as unknown as EventStream; // as much of one as is used here
    },
    host,
    console: { info: print, warn: print, error: print },
    clock,
    randomness: { fraction: () => 1 },
    onConnected: () => undefined,
    onLost: (_, { reason }) => lost.push(reason),
    ...more,
  });
  return { clock, streams, printed, lost, host, state, connection };
}

const ignore = (): void => undefined;
const reset: StreamEnd = { kind: 'reset', reason: 'broken' };
const ours = { hostVersion: '', capabilities: { DroverReconnect: '1' } };

describe('HostConnection', () => {
  it('sends StartStream, and ends with a host that does not accept returning workers', async () => {
    const { connection, streams, clock, lost } = setUp();
    const code = connection.run(ignore);
    await clock.advance(0);
    expect(connection.state).toBe('connected');
    expect(streams[0]?.sent).toEqual([{ kind: 'startStream', requestId: 'r', value: { workerId: 'w' } }]);
    streams[0]?.lose(reset);
    expect(await code).toBe(1);
    expect(connection.isLive).toBe(false);
    expect(lost).toEqual(['broken']);
  });

  it.each([
    ['informs of a stream that the host ends in order', { kind: 'halfClosed', reason: 'stopped' }, ['info: …stopped.']],
    ['warns of a stream that breaks', reset, ['warn: …broken.']],
  ] satisfies [string, StreamEnd, string[]][])('%s', async (_, end, expected) => {
    const said: string[] = [];
    const print = (level: string) => (message: string) =>
      void said.push(`${level}: ${message.replace('The stream to the host ended: ', '…')}`);
    const console = { info: print('info'), warn: print('warn'), error: print('error') };
    const { connection, streams, clock } = setUp({ console });
    const code = connection.run(ignore);
    await clock.advance(0);
    streams[0]?.lose(end);
    await code;
    expect(said).toEqual(expected);
  });

  it('dials once when the host must be listening', async () => {
    const { connection, state, printed } = setUp();
    state.refuses = true;
    expect(await connection.run(ignore)).toBe(1);
    expect(state.dials).toBe(1);
    expect(printed).toEqual(['Cannot connect to the host: refused']);
  });

  it('retries the first connection when the host may start later', async () => {
    const { connection, state, clock } = setUp({ firstWithinMs: 10_000 });
    state.refuses = true;
    void connection.run(ignore);
    await clock.advance(5_000);
    expect(state.dials).toBeGreaterThan(5);
    state.refuses = false;
    await clock.advance(2_000);
    expect(connection.state).toBe('connected');
  });

  it('says nothing of a host that it could not reach when it is told to end', async () => {
    const { connection, state, clock, printed } = setUp({ firstWithinMs: 2_000 });
    state.refuses = true;
    const code = connection.run(ignore);
    await clock.advance(500);
    connection.close(0);
    expect(await code).toBe(0);
    expect(printed).toEqual([]);
  });

  it('reconnects to a host that accepts returning workers, repeatedly', async () => {
    const { connection, host, streams, clock, state } = setUp();
    void connection.run(ignore);
    await clock.advance(0);
    host.update(ours);
    for (const at of [0, 1, 2]) {
      state.refuses = true;
      streams[at]?.lose({ kind: 'reset', reason: 'restarted' });
      await clock.advance(9_000);
      expect(connection.state).toBe('reconnecting');
      expect(connection.stream).toBeUndefined();
      state.refuses = false;
      await clock.advance(2_000);
      expect(connection.state).toBe('connected');
      expect(streams[at + 1]?.sent).toHaveLength(1);
    }
  });

  it.each([
    ['halfClosed', 0],
    ['reset', 1],
  ] as const)('ends after its time limit, with the code of the end that started it: %s', async (kind, expected) => {
    const { connection, host, streams, clock, state } = setUp();
    const code = connection.run(ignore);
    await clock.advance(0);
    host.update(ours);
    state.refuses = true;
    streams[0]?.lose({ kind, reason: 'gone' });
    await clock.advance(10_000);
    expect(await code).toBe(expected);
    expect(clock.pending).toBe(0);
  });

  it('ends a stream, and waits for the host no longer than its grace period', async () => {
    const { connection, streams, clock } = setUp();
    const code = connection.run(ignore);
    await clock.advance(0);
    connection.close(7);
    connection.close(8);
    expect(streams[0]?.hasEnded).toBe(true);
    await clock.advance(1_000);
    expect(await code).toBe(7);
  });

  it('can be closed while it reconnects', async () => {
    const { connection, host, streams, clock, state } = setUp();
    const code = connection.run(ignore);
    await clock.advance(0);
    host.update(ours);
    state.refuses = true;
    streams[0]?.lose(reset);
    await clock.advance(1_000);
    connection.close(0);
    await clock.advance(0);
    expect(await code).toBe(0);
    expect(clock.pending).toBe(0);
  });
});
