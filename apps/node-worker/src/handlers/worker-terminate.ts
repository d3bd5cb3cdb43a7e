import type { Duration } from '@drover/function-rpc';
import type { Termination } from '../execution/termination.js';
import type { MessageHandler } from '../stream/host-stream.js';

/** What hosts usually give. */
export const usualGraceMs = 5_000;

/** Finishes what is running, then ends stream and process. There is no answer. */
export function workerTerminate({
  termination,
}: {
  readonly termination: Termination;
}): MessageHandler<'workerTerminate'> {
  return ({ value: { gracePeriod } }) => termination.begin(gracePeriod ? toMs(gracePeriod) : usualGraceMs);
}

function toMs({ seconds, nanos }: Duration): number {
  return Number(seconds) * 1_000 + nanos / 1_000_000;
}
