import { constants, type ServerHttp2Stream } from 'node:http2';
import { ProtocolError } from '../codec/protocol-error.js';
import { ProtoReader } from '../codec/reader.js';
import { ProtoWriter } from '../codec/writer.js';
import { FrameParser, prefixBytes } from '../grpc/frame-parser.js';
import { GrpcStatus, GrpcStatusError } from '../grpc/grpc-status.js';
import { statusTrailers } from '../grpc/headers.js';
import type { Peer } from '../grpc/peer.js';

/** The context of a call. */
export interface UnaryCall {
  readonly peer: Peer;
  /** Aborts when the caller disconnects or cancels. */
  readonly signal: AbortSignal;
}

/** Writes the fields of a response. */
export type WriteResponse = (writer: ProtoWriter) => void;

/** Decodes the request of a call, which ends at `end`, and runs the call. Without a writer the response is an empty message. */
export type UnaryMethod = (
  reader: ProtoReader,
  end: number,
  call: UnaryCall,
) => Promise<WriteResponse | void> | WriteResponse | void;

/** The request limit: a lock token and a few properties need far less. */
const maxRequestBytes = 1_048_576;

/** Runs a call with one request and one response. `onFailure` receives errors that the caller sees only as a status. */
export async function answerUnary(
  stream: ServerHttp2Stream,
  options: {
    readonly method: UnaryMethod;
    readonly peer: Peer;
    readonly contentType: string;
    readonly onFailure: (error: unknown) => void;
  },
): Promise<void> {
  const { method, peer, contentType, onFailure } = options;
  const closed = new AbortController();
  stream.once('close', () => closed.abort());
  try {
    const request = await readRequest(stream);
    const write = await method(new ProtoReader(request), request.length, { peer, signal: closed.signal });
    const response = toFrame(write ?? undefined);
    if (stream.destroyed || stream.closed) return;
    stream.respond({ ':status': 200, 'content-type': contentType }, { waitForTrailers: true });
    stream.once('wantTrailers', () => stream.sendTrailers(statusTrailers(GrpcStatus.OK, '')));
    stream.end(response);
  } catch (error) {
    const status = statusFor(error);
    if (!(error instanceof GrpcStatusError)) onFailure(error);
    if (stream.destroyed || stream.closed) return;
    stream.respond(
      { ':status': 200, 'content-type': contentType, ...statusTrailers(status.grpcStatus, status.message) },
      { endStream: true },
    );
    stream.close(constants.NGHTTP2_NO_ERROR);
  }
}

/** One message with its prefix: not compressed, then its length in four bytes. */
function toFrame(write: WriteResponse | undefined): Buffer {
  if (!write) return Buffer.alloc(prefixBytes);
  const writer = new ProtoWriter(Buffer.alloc(256));
  writer.raw(Buffer.alloc(prefixBytes));
  write(writer);
  writer.buffer.writeUInt32BE(writer.position - prefixBytes, 1);
  return writer.buffer.subarray(0, writer.position);
}

function statusFor(error: unknown): GrpcStatusError {
  if (error instanceof GrpcStatusError) return error;
  if (error instanceof ProtocolError) return new GrpcStatusError(GrpcStatus.INVALID_ARGUMENT, error.message);
  return new GrpcStatusError(GrpcStatus.INTERNAL, 'the call failed');
}

async function readRequest(stream: ServerHttp2Stream): Promise<Buffer> {
  const parser = new FrameParser(maxRequestBytes);
  let request: Buffer | undefined;
  for await (const chunk of stream) {
    parser.push(chunk as Buffer); // a stream without an encoding yields buffers
    while (parser.next()) {
      if (request) throw new GrpcStatusError(GrpcStatus.INVALID_ARGUMENT, 'the call has more than one request');
      request = Buffer.from(parser.buffer.subarray(parser.start, parser.end));
    }
  }
  if (!request || parser.isWithinMessage) {
    throw new GrpcStatusError(GrpcStatus.INVALID_ARGUMENT, 'the call has no complete request');
  }
  return request;
}
