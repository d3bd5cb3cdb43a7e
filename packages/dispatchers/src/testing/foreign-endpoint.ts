import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A server that plays a tenant's endpoint. Counts its connections. */
export class ForeignEndpoint {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Connections since its start. */
  connections = 0;

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket: Socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
    });
  }

  /** Speaks HTTP. */
  static http(listener: RequestListener, host = '127.0.0.1'): Promise<ForeignEndpoint> {
    return ForeignEndpoint.#listen(createHttpServer(listener), host);
  }

  /** Calls `answer` with the socket and the bytes of each chunk. */
  static raw(answer: (socket: Socket, request: string) => void): Promise<ForeignEndpoint> {
    const server = createServer((socket) => {
      socket.on('data', (bytes: Buffer) => answer(socket, bytes.toString('latin1')));
    });
    return ForeignEndpoint.#listen(server, '127.0.0.1');
  }

  /** Calls `meet` with each new connection, before a byte was received. */
  static meeting(meet: (socket: Socket) => void): Promise<ForeignEndpoint> {
    return ForeignEndpoint.#listen(createServer(meet), '127.0.0.1');
  }

  /** Serves with a server that the test created. */
  static of(server: Server): Promise<ForeignEndpoint> {
    return ForeignEndpoint.#listen(server, '127.0.0.1');
  }

  static async #listen(server: Server, host: string): Promise<ForeignEndpoint> {
    const endpoint = new ForeignEndpoint(server);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, host, resolve);
    });
    return endpoint;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port; // a listening TCP server's address is no path
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/invoke`;
  }

  /** Connections that are open now. */
  get open(): number {
    return this.#sockets.size;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
