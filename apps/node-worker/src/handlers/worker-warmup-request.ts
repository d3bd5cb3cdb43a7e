import { failure, success } from '../execution/exceptions.js';
import type { MessageHandler } from './dispatch.js';

/** Warms up a placeholder, so that its first invocation does not wait for lazy loading and compilation. */
export function workerWarmupRequest({
  warmUp,
}: {
  readonly warmUp: () => Promise<void>;
}): MessageHandler<'workerWarmupRequest'> {
  return ({ requestId }, stream) => {
    void warmUp()
      .then(
        () => success,
        (error: unknown) => failure(error),
      )
      .then((result) => stream.send({ kind: 'workerWarmupResponse', requestId, value: { result } }));
  };
}
