import net from 'node:net';
import { MessageReader, type Message } from './message-reader.js';

/** One keep-alive connection with at most one request under way. Nothing but a socket: the cores belong to the servers. */
export class Connection {
  readonly #socket: net.Socket;
  #isClosed = false;

  private constructor(socket: net.Socket) {
    this.#socket = socket;
  }

  static open(port: number, on: { readonly answer: (answer: Message) => void; readonly lost: (error: Error) => void }) {
    return new Promise<Connection>((resolve, reject) => {
      const reader = new MessageReader(on.answer);
      const socket = net.connect({
        port,
        host: '127.0.0.1',
        noDelay: true,
        onread: {
          buffer: Buffer.allocUnsafe(65_536),
          callback(length, buffer) {
            reader.push(Buffer.from(buffer.buffer, buffer.byteOffset, length));
            return true;
          },
        },
      });
      const connection = new Connection(socket);
      const lose = (error: Error): void => {
        if (connection.#isClosed) return;
        connection.close();
        on.lost(error);
        reject(error);
      };
      socket.once('connect', () => resolve(connection));
      socket.once('error', lose);
      socket.once('close', () => lose(new Error('the server closed a connection')));
    });
  }

  send(request: Buffer): void {
    this.#socket.write(request);
  }

  close(): void {
    this.#isClosed = true;
    this.#socket.destroy();
  }
}
