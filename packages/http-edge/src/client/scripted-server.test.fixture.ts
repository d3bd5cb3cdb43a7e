import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A server that behaves as a test wants. Knows the open connections, and how many there ever were. */
export class ScriptedServer {
  readonly #server: Server;
  readonly sockets = new Set<Socket>();
  connections = 0;

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket: Socket) => {
      this.connections += 1;
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket)).on('error', () => undefined);
    });
  }

  /** Node's own. */
  static http(listener: RequestListener): Promise<ScriptedServer> {
    return ScriptedServer.#listen(createHttpServer(listener));
  }

  /** Does to the socket what `answer` does whenever something came. */
  static raw(answer: (socket: Socket, text: string) => void): Promise<ScriptedServer> {
    return ScriptedServer.#listen(
      createServer((socket) => socket.on('data', (bytes: Buffer) => answer(socket, bytes.toString('latin1')))),
    );
  }

  /** Does to the socket what `meet` does as soon as it is there, and reads nothing by itself. */
  static meeting(meet: (socket: Socket) => void): Promise<ScriptedServer> {
    return ScriptedServer.#listen(createServer({ pauseOnConnect: true }, meet));
  }

  static async #listen(server: Server): Promise<ScriptedServer> {
    const scripted = new ScriptedServer(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return scripted;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port; // a listening TCP server's address is no path
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${this.port}/call?a=1`);
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
