import { GrpcStatus, type StreamEnd } from '@drover/function-rpc';

/** What to do after a stream ended that the worker did not end itself. */
export type AfterStreamEnd = { readonly kind: 'reconnect' } | { readonly kind: 'exit'; readonly code: number };

/** Statuses with which a host rejects this worker. Reconnecting would not change the answer. */
const refusals: ReadonlySet<number | undefined> = new Set([
  GrpcStatus.INVALID_ARGUMENT,
  GrpcStatus.ALREADY_EXISTS,
  GrpcStatus.PERMISSION_DENIED,
  GrpcStatus.UNAUTHENTICATED,
  GrpcStatus.UNIMPLEMENTED,
]);

/** The exit code of the official worker: 0 when the host ended the stream in order, 1 for every other end. */
export function exitCodeOf(end: StreamEnd): number {
  return end.kind === 'halfClosed' ? 0 : 1;
}

/**
 * Reconnects only to a host that announced that it accepts returning workers. One that ends the stream in order wants the worker
 * to end: so it stops a worker that has not told it yet that it handles WorkerTerminate.
 */
export function afterStreamEnd(
  end: StreamEnd,
  { acceptsReturningWorkers, reconnectMs }: { readonly acceptsReturningWorkers: boolean; readonly reconnectMs: number },
): AfterStreamEnd {
  const isFinal = end.kind === 'halfClosed' || (end.kind === 'error' && refusals.has(end.grpcStatus));
  if (acceptsReturningWorkers && reconnectMs > 0 && !isFinal) return { kind: 'reconnect' };
  return { kind: 'exit', code: exitCodeOf(end) };
}
