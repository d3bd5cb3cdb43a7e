import { Client, credentials } from '@grpc/grpc-js';
import { serveRequests } from '../../harness/program.js';
import { responseTo } from '../messages.js';
import { eventStream, unlimited, type WireMessage } from './grpc-codec.js';
import type { EchoPeerRequest } from './serve-load.js';

serveRequests<EchoPeerRequest>(async ({ port }) => {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), unlimited);
  const stream = client.makeBidiStreamRequest(
    eventStream.path,
    eventStream.requestSerialize,
    eventStream.responseDeserialize,
  );
  stream.on('data', ({ requestId, invocationRequest }: WireMessage) => {
    const response = responseTo(invocationRequest?.invocationId ?? '');
    stream.write({ ...(requestId !== undefined && { requestId }), invocationResponse: response });
  });
  stream.write({ startStream: { workerId: 'peer' } });
  return process.pid;
});
