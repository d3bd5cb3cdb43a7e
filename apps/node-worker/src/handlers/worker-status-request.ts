import type { MessageHandler } from '../stream/host-stream.js';

/** The host measures how long the event loop lets it wait. */
export function workerStatusRequest(): MessageHandler<'workerStatusRequest'> {
  return ({ requestId }, stream) => {
    stream.send({ kind: 'workerStatusResponse', requestId, value: {} });
  };
}
