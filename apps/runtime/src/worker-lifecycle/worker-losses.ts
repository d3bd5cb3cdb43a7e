import { GrpcStatus, type StreamEnd } from '@drover/function-rpc';
import type { WorkerRequest } from '../workers/scale-control.js';

/** What the end of a worker's stream means. */
export type StreamVerdict =
  /** We told it to go. */
  { readonly kind: 'ended' } | { readonly kind: 'lost'; readonly reason: string };

/**
 * The table of stream endings. Whether a stream that ended in good order, or was cancelled, is a loss depends on whether
 * the worker was told to end, never on the status alone: a worker that exits with 0 while it has work is lost all the same.
 */
export function judgeStreamEnd(end: StreamEnd, wasTerminated: boolean): StreamVerdict {
  if (wasTerminated) return { kind: 'ended' };
  switch (end.kind) {
    case 'halfClosed':
      return { kind: 'lost', reason: 'it left without being told to' };
    case 'cancelled':
      return { kind: 'lost', reason: 'it cancelled its stream' };
    case 'reset':
      return { kind: 'lost', reason: `its connection broke: ${end.reason}` };
    case 'local':
      return { kind: 'lost', reason: end.reason };
    case 'error':
      return { kind: 'lost', reason: `${statusText(end.grpcStatus)}: ${end.reason}` };
  }
}

function statusText(status: number | undefined): string {
  if (status === GrpcStatus.RESOURCE_EXHAUSTED) return 'it was sent or sent too much';
  if (status === GrpcStatus.INVALID_ARGUMENT) return 'what it sent cannot be read';
  return 'its stream failed';
}

/** How urgent a replacement is: an application without any worker cannot wait. */
export function replacementFor(
  lost: { readonly id: string; readonly applicationKey: string | undefined },
  othersActive: number,
  reason: WorkerRequest['reason'],
): WorkerRequest {
  return {
    applicationKey: lost.applicationKey,
    priority: lost.applicationKey !== undefined && othersActive === 0 ? 'urgent' : 'normal',
    reason,
    replaces: lost.id,
  };
}
