import { EventStream } from '../grpc/event-stream.js';
import { eventStreamPath } from '../grpc/headers.js';
import { connectGrpcStream, type ConnectOptions } from './connect-grpc-stream.js';

/** Connects to a host of FunctionRpc and opens the stream. Rejects when the connection fails or the host refuses it. */
export function connectEventStream(options: ConnectOptions): Promise<EventStream> {
  return connectGrpcStream(options, {
    path: eventStreamPath,
    encoding: 'proto',
    createStream: (http2, of) => new EventStream(http2, of),
  });
}
