import { channel } from 'node:diagnostics_channel';

/** What the library tells on `node:diagnostics_channel`; free of charge while nobody listens. */
export const diagnostics = {
  /** { type, tx, attempt } */
  request: channel('isolated-workers:request'),
  /** { type, tx, attempt, durationMs, error? } */
  settled: channel('isolated-workers:settled'),
  /** The facts of a crash, with suspects and bystanders. */
  crash: channel('isolated-workers:crash'),
  /** { delayMs } */
  restart: channel('isolated-workers:restart'),
  /** { from, to } */
  state: channel('isolated-workers:state'),
};
