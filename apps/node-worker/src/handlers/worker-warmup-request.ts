import { failure, success } from '../execution/exceptions.js';
import type { AppLoader } from '../loading/app-loader.js';
import type { MessageHandler } from './dispatch.js';

/** Warms up a placeholder, so that its first invocation does not wait for lazy loading and compilation. An app is left alone. */
export function workerWarmupRequest({
  loader,
  warmUp,
}: {
  readonly loader: AppLoader;
  readonly warmUp: () => Promise<void>;
}): MessageHandler<'workerWarmupRequest'> {
  return ({ requestId }, stream) => {
    const done = loader.directory === '' ? warmUp() : Promise.resolve();
    void done
      .then(
        () => success,
        (error: unknown) => failure(error),
      )
      .then((result) => stream.send({ kind: 'workerWarmupResponse', requestId, value: { result } }));
  };
}
