import type { StreamingMessage } from '@drover/function-rpc';

/** Receives the messages of function workers. */
export interface MessageTarget {
  receive(workerId: string, message: StreamingMessage): void;
}
