import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { requestOf } from '../messages.js';
import { eventStream, unlimited, type WireMessage } from './grpc-codec.js';
import { Calls, serveEchoHost } from './serve-load.js';

type Stream = ServerDuplexStream<WireMessage, WireMessage>;

const server = new Server(unlimited);
const calls = new Calls();
let stream: Stream | undefined;
const connected = new Promise<void>((resolve) => {
  server.addService(
    { EventStream: { ...eventStream, originalName: 'EventStream' } },
    {
      EventStream(opened: Stream) {
        stream = opened;
        opened.on('data', ({ startStream, invocationResponse }: WireMessage) => {
          if (startStream) resolve();
          else calls.end(invocationResponse?.invocationId ?? '');
        });
      },
    },
  );
});

serveEchoHost({
  listen: () =>
    new Promise((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
        error ? reject(error) : resolve(port),
      );
    }),
  connected,
  call() {
    const { id, answered } = calls.begin();
    stream?.write({ invocationRequest: requestOf(id) });
    return answered;
  },
});
