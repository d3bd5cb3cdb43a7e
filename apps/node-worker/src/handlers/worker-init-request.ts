import type { WorkerInitResponseInit } from '@drover/function-rpc';
import { failure, success } from '../execution/exceptions.js';
import type { AppLoader } from '../loading/app-loader.js';
import type { WorkerDescription } from '../loading/worker-description.js';
import type { HostFacts } from '../stream/host-facts.js';
import type { MessageHandler } from '../stream/host-stream.js';

export interface WorkerInitRequestParts {
  readonly loader: AppLoader;
  readonly host: HostFacts;
  readonly describe: WorkerDescription;
}

/**
 * Begins with the app, if one is named. An app that is broken does not fail here: the host hears of it when it asks for
 * functions. A second request comes from a host that was restarted; the app that is there then stays.
 */
export function workerInitRequest({
  loader,
  host,
  describe,
}: WorkerInitRequestParts): MessageHandler<'workerInitRequest'> {
  return ({ requestId, value: request }, stream) => {
    host.learn(request);
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
