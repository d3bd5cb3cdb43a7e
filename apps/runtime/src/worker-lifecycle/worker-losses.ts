import { GrpcStatus, type StreamEnd } from '@drover/function-rpc';
import type { ScaleUpRequest } from '../workers/scale-control.js';

/** Whether the end of a worker's stream was requested by the runtime (`ended`), or is a loss. */
type StreamVerdict = { readonly kind: 'ended' } | { readonly kind: 'lost'; readonly reason: string };

/**
 * Classifies the end of a stream. Only a worker that was told to end can end without a loss, whatever the status says: a
 * worker that exits with code 0 on its own has lost its invocations all the same.
 */
export function classifyStreamEnd(end: StreamEnd, wasTerminated: boolean): StreamVerdict {
  if (wasTerminated) return { kind: 'ended' };
  switch (end.kind) {
    case 'halfClosed':
      return { kind: 'lost', reason: 'it closed its stream without being told to' };
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
  if (status === GrpcStatus.RESOURCE_EXHAUSTED) return 'a message exceeded the size limit';
  if (status === GrpcStatus.INVALID_ARGUMENT) return 'a message could not be decoded';
  return 'its stream failed';
}

/** Builds the request for a replacement. It is urgent if the application has no other active worker. */
export function replacementFor(
  lost: { readonly id: string; readonly applicationKey: string | undefined; readonly isIsolated?: boolean },
  othersActive: number,
  reason: ScaleUpRequest['reason'],
): ScaleUpRequest {
  return {
    applicationKey: lost.applicationKey,
    priority: lost.applicationKey !== undefined && othersActive === 0 ? 'urgent' : 'normal',
    reason,
    replaces: lost.id,
    ...(lost.isIsolated && { isIsolated: true }),
  };
}
