import { connect, type Socket } from 'node:net';
import { see } from './secrets.js';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; nothing when it is something else. */
  readonly body: unknown;
}

/** What the server sent on a bare connection, taken apart. */
export function parseAnswer(received: string): Answer {
  const final = received.replace(/^(HTTP\/1\.1 1\d\d [^\r]*\r\n\r\n)+/, ''); // "100 Continue" is not yet the answer
  const [head = '', text = ''] = final.split(/\r\n\r\n(.*)/s);
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = new Headers(lines.map((line) => line.split(/: ?(.*)/s).slice(0, 2) as [string, string])); // name, value
  return { status: Number(statusLine.split(' ')[1]), headers, text, body: parseJson(text) };
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A connection of which a test controls every byte. */
export class RawConnection {
  received = '';
  closed = false;
  readonly ended: Promise<void>;
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('latin1').on('data', (chunk: string) => (this.received += chunk));
    socket.on('error', () => undefined); // a cut connection is one of the outcomes; `closed` says so
    this.ended = new Promise((resolve) =>
      socket.once('close', () => {
        this.closed = true;
        see('raw answer', this.received);
        resolve();
      }),
    );
  }

  /** Rejects when the connection is refused. With `allowHalfOpen` it does not hang up only because the server did. */
  static open(url: string, { allowHalfOpen = false } = {}): Promise<RawConnection> {
    const { hostname, port } = new URL(url);
    return new Promise((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port), allowHalfOpen });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new RawConnection(socket));
      });
    });
  }

  send(text: string): this {
    this.#socket.write(text, 'latin1');
    return this;
  }

  close(): Promise<void> {
    this.#socket.destroy();
    return this.ended;
  }
}

/** Sends exactly these bytes, and waits for the server to answer and close: the request must ask for that. */
export async function exchange(url: string, request: string): Promise<Answer> {
  const connection = await RawConnection.open(url);
  await connection.send(request).ended;
  return parseAnswer(connection.received);
}

/** A GET as text, which asks the server to close; further header lines as they are given. */
export function get(path: string, ...headers: readonly string[]): string {
  return [`GET ${path} HTTP/1.1`, 'host: x', 'connection: close', ...headers, '', ''].join('\r\n');
}
