import type { EventStream, StreamingMessageKind, StreamingMessageOf } from '@drover/function-rpc';

/** What handlers need of the stream a message came on. Their answers go to this one: on another nobody waits for them. */
export type HostStream = Pick<EventStream, 'send' | 'sendEncoded' | 'queuedBytes' | 'ended'>;

/** Does what one kind of message asks for. May throw at once, but must not reject later. */
export type MessageHandler<K extends StreamingMessageKind> = (
  message: StreamingMessageOf<K>,
  stream: HostStream,
) => void;

/** The handlers, by the kind of message; a kind without one is reported. */
export type MessageHandlers = { readonly [K in StreamingMessageKind]?: MessageHandler<K> };
