import { GrpcStatus, type StreamEnd } from '@drover/function-rpc';
import { describe, expect, it } from 'vitest';
import { afterStreamEnd, reconnectDelayMs } from './after-stream-end.js';
import { connectionStates, isLive, mayMove, type ConnectionState } from './connection-states.js';

const end = (kind: StreamEnd['kind'], grpcStatus?: number): StreamEnd => ({ kind, grpcStatus, reason: 'test' });
const ours = { takesWorkersBack: true, reconnectMs: 30_000 };

describe('after the end of a stream', () => {
  it.each([
    ['halfClosed', 0],
    ['cancelled', 1],
    ['reset', 1],
    ['error', 1],
  ] as const)('a worker of another host exits, as the official one does: %s → %d', (kind, code) => {
    expect(afterStreamEnd(end(kind), { ...ours, takesWorkersBack: false })).toEqual({ kind: 'exit', code });
    expect(afterStreamEnd(end(kind), { ...ours, reconnectMs: 0 })).toEqual({ kind: 'exit', code });
  });

  it.each(['halfClosed', 'cancelled', 'reset'] as const)('a worker of ours comes back: %s', (kind) => {
    expect(afterStreamEnd(end(kind), ours)).toEqual({ kind: 'reconnect' });
  });

  it('a worker that was refused does not', () => {
    expect(afterStreamEnd(end('error', GrpcStatus.UNAVAILABLE), ours)).toEqual({ kind: 'reconnect' });
    for (const status of [GrpcStatus.PERMISSION_DENIED, GrpcStatus.UNAUTHENTICATED, GrpcStatus.ALREADY_EXISTS]) {
      expect(afterStreamEnd(end('error', status), ours)).toEqual({ kind: 'exit', code: 1 });
    }
  });
});

describe('the wait before an attempt', () => {
  it('doubles up to two seconds, and differs from worker to worker', () => {
    expect([0, 1, 2, 5, 6, 100].map((attempt) => reconnectDelayMs(attempt, 1))).toEqual([
      50, 100, 200, 1_600, 2_000, 2_000,
    ]);
    expect(reconnectDelayMs(0, 0)).toBe(25);
  });
});

describe('the states of a connection', () => {
  it('allow exactly what the table says', () => {
    const all = Object.keys(connectionStates) as ConnectionState[];
    for (const from of all) {
      for (const to of all)
        expect([from, to, mayMove(from, to)]).toEqual([
          from,
          to,
          (connectionStates[from] as readonly string[]).includes(to),
        ]);
    }
  });

  it('are live but for the last', () => {
    expect((Object.keys(connectionStates) as ConnectionState[]).filter((state) => !isLive(state))).toEqual(['ended']);
  });
});
