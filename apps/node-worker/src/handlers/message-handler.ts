import type { StreamingMessageKind, StreamingMessageOf } from '@drover/function-rpc';
import type { HostStream } from '../stream/host-stream.js';

/** Handles messages of one kind. May throw synchronously, must not reject later. Responses go to `stream`. */
export type MessageHandler<K extends StreamingMessageKind> = (
  message: StreamingMessageOf<K>,
  stream: HostStream,
) => void;

/** The handlers by message kind. A message whose kind has no handler is logged and dropped. */
export type MessageHandlers = { readonly [K in StreamingMessageKind]?: MessageHandler<K> };
