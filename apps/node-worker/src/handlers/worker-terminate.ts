import type { Duration } from '@drover/function-rpc';
import type { Termination } from '../execution/termination.js';
import type { MessageHandler } from './dispatch.js';

/** The grace period that hosts usually grant. */
export const defaultGraceMs = 5_000;

/** Finishes running invocations, then ends the stream and the process. Sends no response. */
export function workerTerminate({
  termination,
}: {
  readonly termination: Termination;
}): MessageHandler<'workerTerminate'> {
  return ({ value: { gracePeriod } }) => termination.begin(gracePeriod ? toMs(gracePeriod) : defaultGraceMs);
}

function toMs({ seconds, nanos }: Duration): number {
  return Number(seconds) * 1_000 + nanos / 1_000_000;
}
