import { connectEventStream, type ConnectOptions } from '../client/connect-event-stream.js';
import type { FunctionRpcServerOptions } from '../server/function-rpc-server.js';
import { ScriptedHost, type AdmittedWorker } from '../testing/scripted-host.js';
import type { EventStream } from './event-stream.js';

/** A host and a worker's end of one stream; the worker's is not started yet. */
export interface StreamPair extends AsyncDisposable {
  readonly host: AdmittedWorker;
  readonly worker: EventStream;
  readonly scripted: ScriptedHost;
}

/** Connects the two over a real socket. */
export async function openPair(
  options: {
    readonly server?: Omit<FunctionRpcServerOptions, 'onStream'>;
    readonly client?: Omit<ConnectOptions, 'url'>;
  } = {},
): Promise<StreamPair> {
  const scripted = await ScriptedHost.listen(options.server);
  const worker = await connectEventStream({ url: scripted.url, ...options.client });
  const host = await scripted.worker();
  return { host, worker, scripted, [Symbol.asyncDispose]: () => scripted.stop() };
}
