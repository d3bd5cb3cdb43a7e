import type { MessageHandler } from './dispatch.js';

/** Responds at once: the host measures the latency of the event loop with it. */
export function workerStatusRequest(): MessageHandler<'workerStatusRequest'> {
  return ({ requestId }, stream) => {
    stream.send({ kind: 'workerStatusResponse', requestId, value: {} });
  };
}
