import { FunctionRpcServer, GrpcStatus, type EventStream, type SettlementHandlers } from '@drover/function-rpc';
import type { Lifecycle, Observe } from '@drover/service-kit';
import type { CertificateAuthority } from '../certificates/certificate-authority.js';
import { rpcPortUnusable } from '../errors.js';
import type { RpcObservation } from './rpc-observations.js';

interface RpcListenersOptions {
  readonly loopbackPort: number;
  /** Undefined: only workers on this machine can connect. */
  readonly tls:
    | {
        readonly host: string;
        readonly port: number;
        readonly names: readonly string[];
        readonly authority: () => Promise<CertificateAuthority>;
      }
    | undefined;
  /** With which workers settle messages themselves. */
  readonly settlement: SettlementHandlers;
  readonly observe: Observe<RpcObservation>;
}

/** Listens for function workers: without TLS on loopback, and with mutual TLS on the configured address. */
export class RpcListeners implements Lifecycle {
  readonly name = 'function rpc';
  readonly #options: RpcListenersOptions;
  readonly #server: FunctionRpcServer;
  #onStream: (stream: EventStream) => void = (stream) => stream.destroy(GrpcStatus.UNAVAILABLE, 'not ready yet');
  #loopback: { readonly host: string; readonly port: number } | undefined;
  #tls: { readonly host: string; readonly port: number } | undefined;
  #isStopped = false;

  constructor(options: RpcListenersOptions) {
    this.#options = options;
    this.#server = new FunctionRpcServer({
      onStream: (stream) => this.#onStream(stream),
      settlement: options.settlement,
      onRefused: ({ address, reason }) => options.observe({ kind: 'rpc.refused', address, reason }),
    });
  }

  get isListening(): boolean {
    return this.#loopback !== undefined && !this.#isStopped;
  }

  /** Address for workers on this machine. Throws before the start. */
  get loopback(): { readonly host: string; readonly port: number } {
    if (!this.#loopback) throw new Error('the runtime does not listen for function workers yet; start it first');
    return this.#loopback;
  }

  get tls(): { readonly host: string; readonly port: number } | undefined {
    return this.#tls;
  }

  /** Sets the handler of new streams. Must be called before the start. */
  onStream(handler: (stream: EventStream) => void): void {
    this.#onStream = handler;
  }

  async start(): Promise<void> {
    const { loopbackPort, tls, observe } = this.#options;
    const local = { host: '127.0.0.1', port: loopbackPort };
    this.#loopback = await orExplain(this.#server.listenLoopback(local), local, 'DROVER_RPC_LOOPBACK_PORT');
    observe({ kind: 'rpc.listening', listener: 'loopback', address: `127.0.0.1:${this.#loopback.port}` });
    if (!tls) return;
    const authority = await tls.authority();
    const credentials = await authority.issueServer(tls.names);
    const listening = this.#server.listenTls({ host: tls.host, port: tls.port, ...credentials });
    this.#tls = await orExplain(listening, tls, 'DROVER_RPC_PORT');
    observe({ kind: 'rpc.listening', listener: 'tls', address: `${this.#tls.host}:${this.#tls.port}` });
  }

  /** Keeps the streams open: the invocations on them are drained by the components that sent them. */
  async drain(): Promise<void> {}

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#server.stop();
  }
}

/** Names the setting of an address that cannot be listened on. */
async function orExplain<T>(
  listening: Promise<T>,
  { host, port }: { readonly host: string; readonly port: number },
  setting: string,
): Promise<T> {
  try {
    return await listening;
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw rpcPortUnusable({ host, port, reason, setting }, error);
  }
}
