import type { ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import { connectGrpcStream, grpcStatusName, GrpcStream, type ClientTls, type KeepAlive } from '@drover/function-rpc';
import type { Secret } from '@drover/service-kit';
import { jsonCodec } from './json-codec.js';
import { attachMethod, authorizationOf, linkLimits } from './link-method.js';
import type { LinkStream } from './link-stream.js';
import { controllerMessageShapes } from './message-shapes.js';
import type { ControllerMessage, RuntimeMessage } from './messages.js';

/** The runtime's end of a link. */
export type RuntimeLinkStream = LinkStream<ControllerMessage, RuntimeMessage>;

/** Opens the runtime's end of a link. Rejects when the controller cannot be reached, or refuses the call. */
export type OpenScaleLink = (signal: AbortSignal) => Promise<RuntimeLinkStream>;

interface ScaleLinkAddress {
  /** `http://127.0.0.1:port` without, `https://host:port` with `tls`. */
  readonly url: string;
  readonly token: Secret;
  readonly tls?: ClientTls | undefined;
}

/**
 * A leader that hangs or is paused keeps its connections open: only the missing answer to a ping tells. Its successor waits
 * for the end of a lease of a few seconds, so the runtime must not wait longer than that.
 */
const keepAlive: KeepAlive = { intervalMs: 2_000, timeoutMs: 5_000 };

/** Connects to a scale controller, and waits until it has accepted the call. */
export async function openScaleLink(
  { url, token, tls }: ScaleLinkAddress,
  signal: AbortSignal,
): Promise<RuntimeLinkStream> {
  let accepted = Promise.resolve();
  const stream = await connectGrpcStream(
    { url, ...(tls && { tls }), signal, limits: linkLimits, keepAlive },
    {
      path: attachMethod,
      encoding: 'json',
      headers: { authorization: authorizationOf(token.reveal()) },
      createStream: (http2, of) => {
        accepted = untilAccepted(http2);
        return new GrpcStream(http2, jsonCodec<ControllerMessage, RuntimeMessage>(controllerMessageShapes), of);
      },
    },
  );
  await accepted;
  return stream;
}

/** Resolves with the headers of the response. A refused call has its status in them. */
function untilAccepted(http2: ClientHttp2Stream): Promise<void> {
  return new Promise((resolve, reject) => {
    http2.once('response', (headers: IncomingHttpHeaders) => {
      const status = headers['grpc-status'];
      if (typeof status !== 'string') return resolve();
      reject(
        new Error(`${grpcStatusName(Number(status))}: ${decodeURIComponent(String(headers['grpc-message'] ?? ''))}`),
      );
    });
    http2.once('close', () => reject(new Error('the scale controller closed the stream')));
  });
}
