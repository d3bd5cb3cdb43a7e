import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A result as it arrived. */
export interface ReceivedResult {
  readonly executionId: string;
  readonly status: string;
  readonly body: unknown;
}

/** The receiver of callbacks. While `isDown` it reads every request and resets the connection. */
export class CallbackReceiver {
  isDown = true;
  /** Number of requests that came while it was down, by execution. */
  readonly missed = new Map<string, number>();
  /** In order of arrival, repeats included. */
  readonly results: ReceivedResult[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#take(request, response));
  }

  static async open(): Promise<CallbackReceiver> {
    const receiver = new CallbackReceiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo; // it listens on TCP
    return `http://127.0.0.1:${port}/results?key=secret`;
  }

  /** Ids of the executions with a result here, sorted. */
  get arrived(): string[] {
    return [...new Set(this.results.map(({ executionId }) => executionId))].toSorted();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const executionId = String(request.headers['x-call-id']);
    try {
      const body: unknown = JSON.parse(await text(request));
      if (this.isDown) {
        this.missed.set(executionId, (this.missed.get(executionId) ?? 0) + 1);
        request.socket.resetAndDestroy();
        return;
      }
      this.results.push({ executionId, status: String(request.headers['x-function-status']), body });
      response.end();
    } catch {
      response.destroy(); // the sender has disconnected
    }
  }
}

/** For one test. */
export async function withCallbackReceiver(use: (receiver: CallbackReceiver) => Promise<void>): Promise<void> {
  const receiver = await CallbackReceiver.open();
  try {
    await use(receiver);
  } finally {
    await receiver.close();
  }
}
