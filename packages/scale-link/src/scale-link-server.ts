import { createHash, timingSafeEqual } from 'node:crypto';
import { GrpcServer, GrpcStatus, GrpcStream, type KeepAlive, type TlsCredentials } from '@drover/function-rpc';
import type { Clock, Lifecycle, Secret } from '@drover/service-kit';
import { Attachments, type AttachedRuntime, type ControllerLinkStream, type RuntimeOwner } from './attachments.js';
import { scaleLinkPortUnusable } from './errors.js';
import { jsonCodec } from './json-codec.js';
import { attachMethod, authorizationOf, linkLimits } from './link-method.js';
import { runtimeMessageShapes } from './message-shapes.js';
import type { ControllerMessage, RuntimeMessage } from './messages.js';

export interface ScaleLinkServerOptions {
  /** Without `tls` it must be a loopback address. */
  readonly host: string;
  /** 0 chooses a free one. */
  readonly port: number;
  /** The secret that every runtime presents. */
  readonly token: Secret;
  /** Undefined: no TLS. Otherwise runtimes must have a certificate of the same authority, beside the token. */
  readonly tls: (() => Promise<TlsCredentials>) | undefined;
  readonly onAttached: (runtime: AttachedRuntime) => RuntimeOwner;
  /** Returns why no runtime may attach now, such as `does not lead`; undefined if it may. Runtimes then try the next controller. */
  readonly refusal: () => string | undefined;
  readonly onRefused: (address: string, reason: string) => void;
  readonly clock: Clock;
}

/** A runtime whose event loop is blocked for this long does not serve either. */
const keepAlive: KeepAlive = { intervalMs: 5_000, timeoutMs: 15_000 };

/** The controller's end of the scale link: runtimes attach to it. */
export class ScaleLinkServer implements Lifecycle {
  readonly name = 'scale link server';
  readonly #options: ScaleLinkServerOptions;
  readonly #attachments: Attachments;
  readonly #server: GrpcServer<ControllerLinkStream>;
  #address: { readonly host: string; readonly port: number } | undefined;

  constructor(options: ScaleLinkServerOptions) {
    this.#options = options;
    this.#attachments = new Attachments(options);
    const expected = digest(authorizationOf(options.token.reveal()));
    this.#server = new GrpcServer<ControllerLinkStream>({
      path: attachMethod,
      encoding: 'json',
      limits: linkLimits,
      keepAlive,
      refusalOf: ({ authorization }) => {
        if (!timingSafeEqual(digest(authorization ?? ''), expected))
          return { status: GrpcStatus.UNAUTHENTICATED, reason: 'the token is missing or not valid' };
        const reason = options.refusal();
        return reason === undefined ? undefined : { status: GrpcStatus.FAILED_PRECONDITION, reason };
      },
      createStream: (http2, of) =>
        new GrpcStream(http2, jsonCodec<RuntimeMessage, ControllerMessage>(runtimeMessageShapes), of),
      onStream: (stream) => this.#attachments.accept(stream),
      onRefused: ({ address, reason }) => options.onRefused(address, reason),
    });
  }

  /** For `DROVER_SCALE_LINK_URL` of runtimes. Throws before the start. */
  get url(): string {
    if (!this.#address) throw new Error('the scale link server does not listen yet; start it first');
    const { host, port } = this.#address;
    const name = host.includes(':') ? `[${host}]` : host;
    return `${this.#options.tls ? 'https' : 'http'}://${name}:${port}`;
  }

  async start(): Promise<void> {
    const { host, port, tls } = this.#options;
    try {
      this.#address = tls
        ? await this.#server.listenTls({ host, port, ...(await tls()) })
        : await this.#server.listenLoopback({ host, port });
    } catch (error) {
      const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
      throw scaleLinkPortUnusable({ host, port, reason }, error);
    }
  }

  /** Runtimes stay attached while instances drain. */
  async drain(): Promise<void> {}

  /** Ends every attachment, as when this controller loses its leadership; runtimes may attach again at once. */
  detachAll(reason: string): void {
    this.#attachments.detachAll(reason);
  }

  async stop(): Promise<void> {
    this.#attachments.detachAll('the scale controller stops');
    await this.#server.stop();
  }
}

/** Digests have one length, which a comparison in constant time needs. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
