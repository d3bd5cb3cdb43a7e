import { GrpcStatus, type StreamEnd } from '@drover/function-rpc';
import { describe, expect, it } from 'vitest';
import { afterStreamEnd } from './after-stream-end.js';

const end = (kind: StreamEnd['kind'], grpcStatus?: number): StreamEnd => ({ kind, grpcStatus, reason: 'test' });
const ours = { acceptsReturningWorkers: true, reconnectMs: 30_000 };

describe('after the end of a stream', () => {
  it.each([
    ['halfClosed', 0],
    ['cancelled', 1],
    ['reset', 1],
    ['error', 1],
  ] as const)('a worker of another host exits, as the official one does: %s → %d', (kind, code) => {
    expect(afterStreamEnd(end(kind), { ...ours, acceptsReturningWorkers: false })).toEqual({ kind: 'exit', code });
    expect(afterStreamEnd(end(kind), { ...ours, reconnectMs: 0 })).toEqual({ kind: 'exit', code });
  });

  it.each(['cancelled', 'reset'] as const)('the worker reconnects to a host that accepts it: %s', (kind) => {
    expect(afterStreamEnd(end(kind), ours)).toEqual({ kind: 'reconnect' });
  });

  it('a worker whose stream the host has ended in order does not return', () => {
    expect(afterStreamEnd(end('halfClosed'), ours)).toEqual({ kind: 'exit', code: 0 });
  });

  it('a worker that was refused does not reconnect', () => {
    expect(afterStreamEnd(end('error', GrpcStatus.UNAVAILABLE), ours)).toEqual({ kind: 'reconnect' });
    for (const status of [GrpcStatus.PERMISSION_DENIED, GrpcStatus.UNAUTHENTICATED, GrpcStatus.ALREADY_EXISTS]) {
      expect(afterStreamEnd(end('error', status), ours)).toEqual({ kind: 'exit', code: 1 });
    }
  });
});
