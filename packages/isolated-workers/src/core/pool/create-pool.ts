import type { MessageDef, MessageDefs } from '../../types/messages.js';
import type { PoolOptions, WorkerPool } from '../../types/pool.js';
import type { SendOptions, StreamOptions } from '../../types/worker.js';
import { openStream } from '../open-stream.js';
import type { WorkerCore } from '../worker.js';
import { PoolCore } from './pool.js';

/** Starts a pool of workers and resolves when its warm spares are ready to answer. */
export async function createPool<
  Defs extends MessageDefs<Defs>,
  HostDefs extends MessageDefs<HostDefs> = Record<never, MessageDef>,
>(options: PoolOptions<Defs, HostDefs>): Promise<WorkerPool<Defs>> {
  const core = new PoolCore(options);
  await core.started();
  const streams = core as unknown as WorkerCore; // a stream only asks, grants and abandons, which pools do as well
  const pool = {
    send: (type: string, payload?: unknown, given: SendOptions = {}) =>
      new Promise((resolve, reject) => {
        core.request(type, payload, given, { resolve, reject, onProgress: given.onProgress }, 0);
      }),
    stream: (type: string, payload?: unknown, given: StreamOptions = {}) => openStream(streams, type, payload, given),
    capabilities: core.settings.worker.driver.capabilities,
    stats: () => core.stats(),
    drain: (deadline?: AbortSignal) => core.drain(deadline),
    close: () => core.close(),
    stop: () => core.close(),
    [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]: () => core.close(),
  };
  return pool as unknown as WorkerPool<Defs>; // the types of each message exist only for the compiler
}
