import type { MessageDef, MessageDefs } from '../../types/messages.js';
import type { PoolOptions, WorkerPool } from '../../types/pool.js';
import type { SendOptions, StreamOptions } from '../../types/worker.js';
import { openStream } from '../open-stream.js';
import { expectOptions } from '../options/option-tables.js';
import type { WorkerCore } from '../worker.js';
import { PoolCore } from './pool.js';
import type { PoolRequest } from './pool-request.js';

/** The options of a call without options. */
const none: SendOptions = {};

/** Creates a pool of workers. Resolves when its warm spares (`minIdle`) are ready. */
export async function createPool<
  Defs extends MessageDefs<Defs>,
  HostDefs extends MessageDefs<HostDefs> = Record<never, MessageDef>,
>(options: PoolOptions<Defs, HostDefs>): Promise<WorkerPool<Defs>> {
  expectOptions.ofPool(options);
  const core = new PoolCore(options);
  await core.started();
  const streams = core as unknown as WorkerCore; // a stream calls request, grant and abandon, which pools have as well
  const pool = {
    send: (type: string, payload?: unknown, given: SendOptions = none) =>
      new Promise((resolve, reject) => {
        if (given !== none) expectOptions.ofRequest(given);
        core.request(type, payload, given, { resolve, reject, onProgress: given.onProgress }, 0);
      }),
    request: (type: string, payload?: unknown, given = none) => new SentRequest(core, type, payload, given),
    stream(type: string, payload?: unknown, given: StreamOptions = none) {
      expectOptions.ofStream(given);
      return openStream(streams, type, payload, given);
    },
    capabilities: core.settings.worker.driver.capabilities,
    get pids() {
      return core.pids;
    },
    stats: () => core.stats(),
    times: core.times,
    resize(limits: Parameters<PoolCore['resize']>[0]) {
      expectOptions.ofResize(limits);
      core.resize(limits);
    },
    ref: () => core.setRef(true),
    unref: () => core.setRef(false),
    drain: (deadline?: AbortSignal) => core.drain(deadline),
    close: () => core.close(),
    stop: () => core.close(),
    [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]: () => core.close(),
  };
  return pool as unknown as WorkerPool<Defs>; // the types of each message exist only for the compiler
}

class SentRequest {
  readonly answer: Promise<unknown>;
  #request: PoolRequest | undefined;

  constructor(core: PoolCore, type: string, payload: unknown, given: SendOptions) {
    this.answer = new Promise((resolve, reject) => {
      if (given !== none) expectOptions.ofRequest(given);
      this.#request = core.request(type, payload, given, { resolve, reject, onProgress: given.onProgress }, 0);
    });
  }

  cancel(reason: unknown = new DOMException('the request was cancelled', 'AbortError')): void {
    this.#request?.abandon(reason);
  }
}
