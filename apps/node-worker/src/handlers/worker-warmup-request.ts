import { failure, success } from '../execution/exceptions.js';
import type { MessageHandler } from '../stream/host-stream.js';

/** Does now, in a placeholder that waits, what its first invocation would otherwise have to wait for. */
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
