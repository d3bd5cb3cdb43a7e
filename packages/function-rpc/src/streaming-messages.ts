import { ProtoReader } from './codec/reader.js';
import { ProtoWriter } from './codec/writer.js';
import { readStreamingMessage } from './generated/streaming-message-read.js';
import { writeStreamingMessage } from './generated/streaming-message-write.js';
import type { StreamingMessage, StreamingMessageInit } from './generated/streaming-message.js';

/** Encodes a message without framing. Throws a ProtocolError for values that the protocol cannot represent. */
export function encodeStreamingMessage(message: StreamingMessageInit): Buffer {
  const writer = new ProtoWriter(Buffer.allocUnsafeSlow(1_024));
  writeStreamingMessage(writer, message);
  return writer.buffer.subarray(0, writer.position);
}

/** Decodes a message without framing. Throws a ProtocolError for malformed bytes. */
export function decodeStreamingMessage(bytes: Uint8Array): StreamingMessage {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return readStreamingMessage(new ProtoReader(buffer), buffer.length);
}
