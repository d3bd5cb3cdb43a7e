import { GrpcStatus, type StreamEnd } from '@drover/function-rpc';

/** What to do when a stream has ended that the worker did not end itself. */
export type AfterStreamEnd = { readonly kind: 'reconnect' } | { readonly kind: 'exit'; readonly code: number };

/** Statuses by which a host says that it does not want this worker: to come back would not change that. */
const refusals: ReadonlySet<number | undefined> = new Set([
  GrpcStatus.INVALID_ARGUMENT,
  GrpcStatus.ALREADY_EXISTS,
  GrpcStatus.PERMISSION_DENIED,
  GrpcStatus.UNAUTHENTICATED,
  GrpcStatus.UNIMPLEMENTED,
]);

/** As the official worker: a host that ended the stream in good order wants the worker to go; any other end is a crash. */
export function exitCodeOf(end: StreamEnd): number {
  return end.kind === 'halfClosed' ? 0 : 1;
}

/** Comes back only to a host that said it takes workers back. */
export function afterStreamEnd(
  end: StreamEnd,
  { takesWorkersBack, reconnectMs }: { readonly takesWorkersBack: boolean; readonly reconnectMs: number },
): AfterStreamEnd {
  const isRefused = end.kind === 'error' && refusals.has(end.grpcStatus);
  if (takesWorkersBack && reconnectMs > 0 && !isRefused) return { kind: 'reconnect' };
  return { kind: 'exit', code: exitCodeOf(end) };
}

const firstDelayMs = 50;
const longestDelayMs = 2_000;

/** How long to wait before an attempt: twice as long each time, and never all workers at once. `chance` is from 0 to 1. */
export function reconnectDelayMs(attempt: number, chance: number): number {
  const delayMs = Math.min(longestDelayMs, firstDelayMs * 2 ** Math.min(attempt, 16));
  return delayMs * (0.5 + chance / 2);
}
