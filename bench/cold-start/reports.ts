import { createSocket, type Socket } from 'node:dgram';

/** Hears from functions which message has run, as soon as they have run. */
export class Reports {
  readonly #socket: Socket;
  readonly #waiting = new Map<string, () => void>();

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('message', (bytes) => this.#waiting.get(bytes.toString('utf8'))?.());
  }

  static open(): Promise<Reports> {
    const socket = createSocket('udp4');
    return new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.bind(0, '127.0.0.1', () => resolve(new Reports(socket)));
    });
  }

  get port(): number {
    return this.#socket.address().port;
  }

  /** Resolves when the message has run. */
  async of(message: string, withinMs = 30_000): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        this.#waiting.set(message, resolve);
        timer = setTimeout(() => reject(new Error(`message ${message} has not run within ${withinMs} ms`)), withinMs);
      });
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(message);
    }
  }

  close(): void {
    this.#socket.close();
  }
}
