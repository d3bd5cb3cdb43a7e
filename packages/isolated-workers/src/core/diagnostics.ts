import { channel } from 'node:diagnostics_channel';
import type { PendingRequest } from './pending-request.js';

/** The channels of this library on `node:diagnostics_channel`. They cost nothing without subscribers. */
export const diagnostics = {
  /** { type, tx, attempt } */
  request: channel('isolated-workers:request'),
  /** { type, tx, attempt, durationMs, error? } */
  settled: channel('isolated-workers:settled'),
  /** CrashFacts with the numbers of suspects and bystanders. */
  crash: channel('isolated-workers:crash'),
  /** { delayMs } */
  restart: channel('isolated-workers:restart'),
  /** { from, to } */
  state: channel('isolated-workers:state'),
};

/** Publishes a request and its settlement. */
export function reportRequest(request: PendingRequest): void {
  if (!diagnostics.request.hasSubscribers && !diagnostics.settled.hasSubscribers) return;
  const { type, tx } = request;
  const startedMs = performance.now();
  diagnostics.request.publish({ type, tx, attempt: request.attempt });
  request.onSettled((failure) =>
    diagnostics.settled.publish({
      type,
      tx,
      attempt: request.attempt,
      durationMs: performance.now() - startedMs,
      ...failure,
    }),
  );
}
