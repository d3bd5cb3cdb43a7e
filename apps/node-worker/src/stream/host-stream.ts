import type { EventStream } from '@drover/function-rpc';

/**
 * The part of a stream that handlers use. A response must go to the stream its request came from: the host does not accept
 * it on another one.
 */
export type HostStream = Pick<EventStream, 'send' | 'sendEncoded' | 'queuedBytes' | 'ended'>;
