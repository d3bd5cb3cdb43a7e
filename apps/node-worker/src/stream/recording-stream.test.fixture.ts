import {
  decodeStreamingMessage,
  encodeStreamingMessage,
  type StreamEnd,
  type StreamingMessage,
  type StreamingMessageInit,
} from '@drover/function-rpc';
import type { HostStream } from './host-connection.js';

/** A stream that records what is sent on it, as the host would decode it. */
export class RecordingStream implements HostStream {
  readonly sent: StreamingMessage[] = [];
  queuedBytes = 0;
  ended: StreamEnd | undefined;

  send(message: StreamingMessageInit): boolean {
    return this.sendEncoded(encodeStreamingMessage(message));
  }

  sendEncoded(bytes: Uint8Array): boolean {
    if (this.ended) return false;
    this.sent.push(decodeStreamingMessage(bytes));
    return true;
  }

  /** The log lines among the sent messages. */
  get logs(): string[] {
    return this.sent.flatMap((message) => (message.kind === 'rpcLog' ? [message.value.message] : []));
  }
}
