import { channel } from 'node:diagnostics_channel';

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
