import { connectEventStream } from '../client/connect-event-stream.js';
import type { ConnectOptions } from '../client/connect-grpc-stream.js';
import type { FunctionRpcServerOptions } from '../server/function-rpc-server.js';
import { ScriptedHost, type AdmittedWorker } from '../testing/scripted-host.js';
import type { EventStream } from './event-stream.js';

/** Both ends of one stream. The worker's end is not started. */
export interface StreamPair extends AsyncDisposable {
  readonly host: AdmittedWorker;
  readonly worker: EventStream;
  readonly scripted: ScriptedHost;
}

/** Connects both ends over a real socket. */
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
