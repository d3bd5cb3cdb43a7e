import type { StreamingMessage } from '@drover/function-rpc';
import type { SystemLog } from '../logs/system-log.js';
import type { HostStream, MessageHandler, MessageHandlers } from './host-stream.js';

/** Kinds that mean nothing to a worker and that hosts may send all the same. */
const ignored: ReadonlySet<string> = new Set(['workerHeartbeat', 'fileChangeEventRequest']);

/** Gives each message to the handler of its kind. Does not throw: that would end the stream for everybody else. */
export function createDispatch(
  handlers: MessageHandlers,
  systemLog: SystemLog,
): (message: StreamingMessage, stream: HostStream) => void {
  return (message, stream) => {
    const { kind } = message;
    // The compiler cannot see that a message and the handler of its kind belong together.
    const handler = (kind && handlers[kind]) as MessageHandler<NonNullable<typeof kind>> | undefined;
    try {
      if (handler) handler(message as Parameters<typeof handler>[0], stream);
      else if (kind === undefined)
        systemLog('warning', 'A message of a kind that this worker does not know was ignored.');
      else if (!ignored.has(kind))
        systemLog('warning', `A message was ignored: this worker has no handler for '${kind}'.`);
    } catch (error) {
      systemLog(
        'error',
        `A message of kind '${kind}' could not be handled: ${error instanceof Error ? error.message : ''}`,
      );
    }
  };
}
