import { once } from 'node:events';
import { rename, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import type { Lifecycle } from '@drover/service-kit';

export interface LocalSocketOptions {
  readonly directory: string;
  readonly server: {
    /** Known once it has started. */
    readonly url: string;
    serveConnection(socket: Socket): void;
  };
  /** Called if the socket cannot be opened: clients then use the port. */
  readonly onUnusable: (about: { readonly file: string; readonly reason: string }) => void;
}

/** As for the TCP port. */
const backlog = 4_096;

/** Returns the Unix socket of a server on this machine that listens on a port. */
export function localSocketFile(directory: string, port: number | string): string {
  return path.join(directory, `${port}.sock`);
}

/**
 * Serves the connections of a Unix socket beside those of a TCP port, for clients on the same machine. No proxy is in between, so a
 * client that sees the connection reset knows that the server has not read its whole request. Start it after the server.
 */
export class LocalSocket implements Lifecycle {
  readonly name = 'local socket';
  readonly #options: LocalSocketOptions;
  readonly #listener: Server;
  /** Set while it listens. */
  #file: string | undefined;

  constructor(options: LocalSocketOptions) {
    this.#options = options;
    // As Node's HTTP server has it: a client may end its side before it has the answer.
    this.#listener = createServer({ allowHalfOpen: true }, (socket) => options.server.serveConnection(socket));
  }

  async start(): Promise<void> {
    const { directory, server, onUnusable } = this.#options;
    const { port } = new URL(server.url);
    const file = localSocketFile(directory, port);
    const draft = path.join(directory, `${port}.new`);
    try {
      await rm(draft, { force: true });
      this.#listener.listen({ path: draft, backlog });
      await once(this.#listener, 'listening');
      // There is always a file: without that of a killed predecessor, clients would connect to the port, and keep that connection.
      await rename(draft, file);
      this.#file = file;
    } catch (error) {
      this.#listener.close();
      const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
      await rm(file, { force: true }).catch(() => undefined); // of a predecessor that could open it
      onUnusable({ file, reason });
    }
  }

  /** Accepts no more connections; the server ends those that are open. */
  drain(): Promise<void> {
    return this.stop();
  }

  async stop(): Promise<void> {
    const file = this.#file;
    if (file === undefined) return;
    this.#file = undefined;
    this.#listener.close();
    await rm(file, { force: true });
  }
}
