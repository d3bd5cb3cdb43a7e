import type { StreamingMessage, StreamingMessageKind, StreamingMessageOf } from '@drover/function-rpc';
import type { SystemLog } from '../logs/system-log.js';
import type { HostStream } from '../stream/host-connection.js';

/** Handles messages of one kind. May throw synchronously, must not reject later. Responses go to `stream`. */
export type MessageHandler<K extends StreamingMessageKind> = (
  message: StreamingMessageOf<K>,
  stream: HostStream,
) => void;

/** The handlers by message kind. A message whose kind has no handler is logged and dropped. */
type MessageHandlers = { readonly [K in StreamingMessageKind]?: MessageHandler<K> };

/** Kinds that hosts may send and workers ignore. */
const ignored: ReadonlySet<string> = new Set(['workerHeartbeat', 'fileChangeEventRequest']);

/** Passes each message to the handler of its kind. Does not throw: an error would end the stream. */
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
      else if (kind === undefined) systemLog('warning', 'A message of an unknown kind was ignored.');
      else if (!ignored.has(kind))
        systemLog('warning', `A message of kind '${kind}' was ignored: this worker has no handler for it.`);
    } catch (error) {
      systemLog(
        'error',
        `A message of kind '${kind}' could not be handled: ${error instanceof Error ? error.message : ''}`,
      );
    }
  };
}
