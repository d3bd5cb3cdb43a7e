import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { isStorageProbe, probeAnswer } from '../ports/storage-probe.js';
import { startAzuriteProcess, type AzuriteKind, type AzuriteProcess } from './azurite-process.js';

export interface AzuriteServiceOptions {
  readonly kind: AzuriteKind;
  /** 0, the default, takes a free port. */
  readonly port?: number;
  readonly host?: string;
  /** In memory only without it. */
  readonly dataDirectory?: string;
  /** Receives one sentence when Azurite ends unexpectedly or does not start. */
  readonly warn?: (sentence: string) => void;
}

/**
 * Blobs or tables by Azurite, which costs about 100 MB and a second of CPU to start: most applications that ask for storage never use
 * them. So the port is opened at once and Azurite is started by the first request; all bytes are forwarded to it. The question of
 * another process whether an emulator listens here is answered without Azurite.
 *
 * - waiting: no Azurite process; the next request starts one
 * - starting: connections wait for the process
 * - running: connections are forwarded. When the process ends they are closed, and the service waits again
 */
export class AzuriteService {
  readonly #options: AzuriteServiceOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #process: Promise<AzuriteProcess> | undefined;
  #running: AzuriteProcess | undefined;
  #isStopped = false;

  private constructor(options: AzuriteServiceOptions) {
    this.#options = options;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      this.#track(client);
      client.once('end', () => client.end()); // closed without a request
      client.once('data', (first) => {
        client.pause();
        if (isStorageProbe(first)) return void client.end(probeAnswer);
        client.unshift(first);
        void this.#forward(client);
      });
    });
  }

  /** Resolves when the port is open. Rejects if it is taken. */
  static async start(options: AzuriteServiceOptions): Promise<AzuriteService> {
    const service = new AzuriteService(options);
    await new Promise<void>((resolve, reject) => {
      service.#server.once('error', reject);
      service.#server.listen(options.port ?? 0, options.host ?? '127.0.0.1', resolve);
    });
    return service;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port; // a TCP port was opened
  }

  get state(): 'waiting' | 'starting' | 'running' {
    if (this.#running) return 'running';
    return this.#process ? 'starting' : 'waiting';
  }

  /** Process id of Azurite while it runs. */
  get pid(): number | undefined {
    return this.#running?.pid;
  }

  /** Starts Azurite if it does not run, and returns the port on which it listens itself. */
  async backendPort(): Promise<number> {
    return (await this.#azurite()).port;
  }

  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    const azurite = await this.#process?.catch(() => undefined);
    await azurite?.stop();
  }

  async #forward(client: Socket): Promise<void> {
    try {
      const { port } = await this.#azurite();
      if (client.destroyed) return;
      const backend = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
      this.#track(backend);
      backend.once('close', () => client.destroy());
      client.once('close', () => backend.destroy());
      client.pipe(backend);
      backend.pipe(client);
    } catch (error) {
      client.end(unavailable(error));
    }
  }

  #azurite(): Promise<AzuriteProcess> {
    this.#process ??= this.#start();
    return this.#process;
  }

  async #start(): Promise<AzuriteProcess> {
    const { kind, dataDirectory, warn } = this.#options;
    try {
      const azurite = await startAzuriteProcess(kind, dataDirectory);
      this.#running = azurite;
      void azurite.exited.then((reason) => this.#ended(reason));
      return azurite;
    } catch (error) {
      this.#process = undefined; // the next connection tries again
      warn?.(`The ${kind} service is unavailable. ${error instanceof Error ? error.message : String(error)}`);
      throw error;
    }
  }

  #ended(reason: string): void {
    this.#running = undefined;
    this.#process = undefined;
    const { kind, warn } = this.#options;
    if (!this.#isStopped) warn?.(`The ${kind} service of Azurite ended (${reason}). The next request starts it again.`);
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy()); // its peer sees the end of the connection
    socket.once('close', () => this.#sockets.delete(socket));
  }
}

function unavailable(error: unknown): string {
  const body = `${error instanceof Error ? error.message : String(error)}\n`;
  const head = `HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(body)}`;
  return `${head}\r\nConnection: close\r\n\r\n${body}`;
}
