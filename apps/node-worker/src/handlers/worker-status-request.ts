import type { LoopTurns } from '../execution/loop-turns.js';
import type { MessageHandler } from './dispatch.js';

/**
 * Responds as soon as the invocations that were requested before have begun: the host measures the latency of the event loop with
 * it, and hands over further invocations by it.
 */
export function workerStatusRequest(turns: Pick<LoopTurns, 'whenBegun'>): MessageHandler<'workerStatusRequest'> {
  return ({ requestId }, stream) => {
    turns.whenBegun(() => void stream.send({ kind: 'workerStatusResponse', requestId, value: {} }));
  };
}
