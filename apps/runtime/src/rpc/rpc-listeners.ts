import { FunctionRpcServer, type EventStream } from '@drover/function-rpc';
import type { Lifecycle, Observe } from '@drover/service-kit';
import type { CertificateAuthority } from '../certificates/certificate-authority.js';
import type { RpcObservation } from './rpc-observations.js';

export interface RpcListenersOptions {
  readonly loopbackPort: number;
  /** Undefined: only workers of this machine are taken. */
  readonly tls:
    | {
        readonly host: string;
        readonly port: number;
        readonly names: readonly string[];
        readonly authority: () => Promise<CertificateAuthority>;
      }
    | undefined;
  readonly onStream: (stream: EventStream) => void;
  readonly observe: Observe<RpcObservation>;
}

/** The two doors for function workers: one for processes of this machine, one for certificates from the network. */
export class RpcListeners implements Lifecycle {
  readonly name = 'function rpc';
  readonly #options: RpcListenersOptions;
  readonly #server: FunctionRpcServer;
  #loopback: { readonly host: string; readonly port: number } | undefined;
  #tls: { readonly host: string; readonly port: number } | undefined;
  #isStopped = false;

  constructor(options: RpcListenersOptions) {
    this.#options = options;
    this.#server = new FunctionRpcServer({
      onStream: options.onStream,
      onRefused: ({ address, reason }) => options.observe({ kind: 'rpc.refused', address, reason }),
    });
  }

  get isListening(): boolean {
    return this.#loopback !== undefined && !this.#isStopped;
  }

  /** Where workers of this machine connect. */
  get loopback(): { readonly host: string; readonly port: number } {
    if (!this.#loopback) throw new Error('the runtime does not listen for function workers yet');
    return this.#loopback;
  }

  get tls(): { readonly host: string; readonly port: number } | undefined {
    return this.#tls;
  }

  async start(): Promise<void> {
    const { loopbackPort, tls, observe } = this.#options;
    this.#loopback = await this.#server.listenLoopback({ port: loopbackPort });
    observe({ kind: 'rpc.listening', listener: 'loopback', address: `127.0.0.1:${this.#loopback.port}` });
    if (!tls) return;
    const authority = await tls.authority();
    const credentials = await authority.issueServer(tls.names);
    this.#tls = await this.#server.listenTls({ host: tls.host, port: tls.port, ...credentials });
    observe({ kind: 'rpc.listening', listener: 'tls', address: `${this.#tls.host}:${this.#tls.port}` });
  }

  /** Streams stay: what runs on them is drained by whoever sent it. */
  async drain(): Promise<void> {}

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#server.stop();
  }
}
