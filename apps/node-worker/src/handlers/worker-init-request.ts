import type { WorkerInitResponseInit } from '@drover/function-rpc';
import { failure, success } from '../execution/exceptions.js';
import type { AppLoader } from '../loading/app-loader.js';
import type { WorkerDescription } from '../loading/capabilities.js';
import type { HostProperties } from '../stream/host-properties.js';
import type { MessageHandler } from './dispatch.js';

export interface WorkerInitRequestParts {
  readonly loader: AppLoader;
  readonly host: HostProperties;
  readonly describe: WorkerDescription;
}

/**
 * Starts the app, if the request names one. A broken app does not fail here, but when the host asks for its functions. A
 * second request comes from a host that was restarted; the app stays loaded.
 */
export function workerInitRequest({
  loader,
  host,
  describe,
}: WorkerInitRequestParts): MessageHandler<'workerInitRequest'> {
  return ({ requestId, value: request }, stream) => {
    host.update(request);
    const { functionAppDirectory } = request;

    const answer = async (): Promise<WorkerInitResponseInit> => {
      try {
        if (functionAppDirectory !== '') await loader.start(functionAppDirectory);
        const capabilities = await loader.capabilities();
        return { capabilities, workerMetadata: describe(), result: success };
      } catch (error) {
        return { workerMetadata: describe(), result: failure(error) };
      }
    };

    void answer().then((value) => stream.send({ kind: 'workerInitResponse', requestId, value }));
  };
}
