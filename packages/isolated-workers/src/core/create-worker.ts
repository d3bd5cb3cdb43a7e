import type { MessageDef, MessageDefs } from '../types/messages.js';
import type { SendOptions, StreamOptions, WorkerClient, WorkerOptions } from '../types/worker.js';
import { openStream } from './open-stream.js';
import { expectOptions } from './options/option-tables.js';
import { WorkerCore } from './worker.js';

/** The options of a call without options. */
const none: SendOptions = {};

/** Starts a worker. Resolves when it is ready; rejects when it does not start. */
export async function createWorker<
  Defs extends MessageDefs<Defs>,
  HostDefs extends MessageDefs<HostDefs> = Record<never, MessageDef>,
>(options: WorkerOptions<Defs, HostDefs>): Promise<WorkerClient<Defs>> {
  expectOptions.ofWorker(options);
  const core = new WorkerCore(options);
  await core.started();
  return clientOf<Defs>(core);
}

/** Returns the typed client of a worker. */
function clientOf<Defs extends MessageDefs<Defs>>(core: WorkerCore): WorkerClient<Defs> {
  const client = {
    send: (type: string, payload?: unknown, options: SendOptions = none) =>
      new Promise((resolve, reject) => {
        if (options !== none) expectOptions.ofRequest(options);
        core.request(type, payload, options, { resolve, reject, onProgress: options.onProgress }, 0);
      }),
    stream(type: string, payload?: unknown, options: StreamOptions = none) {
      expectOptions.ofStream(options);
      return openStream(core, type, payload, options);
    },
    get pid() {
      return core.pid;
    },
    get state() {
      return core.state;
    },
    get isActive() {
      return core.state !== 'closing' && core.state !== 'closed' && core.state !== 'unavailable';
    },
    get isConnected() {
      return core.state === 'ready';
    },
    capabilities: core.capabilities,
    times: core.times,
    get pending() {
      return core.pending;
    },
    sample: () => core.sample(),
    recycle: () => core.recycle(),
    ref: () => core.setRef(true),
    unref: () => core.setRef(false),
    drain: (deadline?: AbortSignal) => core.drain(deadline),
    close: () => core.close(),
    stop: () => core.close(),
    [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]: () => core.close(),
  };
  return client as unknown as WorkerClient<Defs>; // the types of each message exist only for the compiler
}
