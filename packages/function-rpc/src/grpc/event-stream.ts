import type { Http2Stream } from 'node:http2';
import { ProtoReader } from '../codec/reader.js';
import { readStreamingMessage } from '../generated/streaming-message-read.js';
import { writeStreamingMessage } from '../generated/streaming-message-write.js';
import type { StreamingMessage, StreamingMessageInit } from '../generated/streaming-message.js';
import { GrpcStream, type GrpcStreamHandlers, type GrpcStreamOptions, type MessageCodec } from './grpc-stream.js';

export type StreamHandlers = GrpcStreamHandlers<StreamingMessage>;

/** One end of an EventStream call: a gRPC stream with the messages of FunctionRpc. */
export class EventStream extends GrpcStream<StreamingMessage, StreamingMessageInit> {
  constructor(http2: Http2Stream, options: GrpcStreamOptions) {
    super(http2, streamingMessageCodec(), options);
  }
}

/** The reader is reused for all messages of a stream. */
function streamingMessageCodec(): MessageCodec<StreamingMessage, StreamingMessageInit> {
  const reader = new ProtoReader(Buffer.alloc(0));
  return {
    read(buffer, start, end) {
      reader.begin(buffer, start);
      return readStreamingMessage(reader, end);
    },
    write: writeStreamingMessage,
  };
}
