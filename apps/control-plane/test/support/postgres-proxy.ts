import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type NetConnectOpts, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Secret } from '@drover/service-kit';

/** The limit of the platform, where tests of other things wait longer for a connection. */
export const outageLimits = { DROVER_DATABASE_CONNECT_TIMEOUT_MS: '2000' };

/** A way to the test server that can be cut, as a network or a crash would cut it. */
export class PostgresProxy {
  /** The same database by way of this proxy. */
  readonly url: Secret;
  readonly #directory: string;
  readonly #target: NetConnectOpts;
  readonly #sockets = new Set<Socket>();
  readonly #servers = new Set<Socket>();
  #server: Server | undefined;
  #mute = false;
  /** Sockets of the server whose answers wait; undefined while answers go through. */
  #held: Socket[] | undefined;

  private constructor(databaseUrl: Secret, directory: string) {
    const url = new URL(databaseUrl.reveal());
    const host = url.searchParams.get('host') ?? url.hostname;
    const port = url.port || '5432';
    this.#target = host.startsWith('/') ? { path: path.join(host, `.s.PGSQL.${port}`) } : { host, port: Number(port) };
    this.#directory = directory;
    // A socket file rather than a port: no other process can take it while the proxy is closed.
    url.port = '';
    url.searchParams.set('host', directory);
    this.url = new Secret(url.href);
  }

  static async to(databaseUrl: Secret): Promise<PostgresProxy> {
    const proxy = new PostgresProxy(databaseUrl, await mkdtemp(path.join(tmpdir(), 'drover-test-')));
    await proxy.open();
    return proxy;
  }

  /** Lets connections through. */
  async open(): Promise<void> {
    const server = createServer((socket) => this.#join(socket));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(path.join(this.#directory, '.s.PGSQL.5432'), resolve);
    });
    this.#server = server;
  }

  /** Breaks every connection and refuses new ones. */
  async cut(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    this.#mute = false;
    this.#held = undefined;
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
  }

  /** Keeps every connection and lets nothing through any more: the worst way to go away. */
  silence(): void {
    this.#mute = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** Lets statements through and keeps their answers: the server does what it is asked, and its client does not know. */
  holdAnswers(): void {
    this.#held = [...this.#servers];
    for (const socket of this.#held) socket.pause();
  }

  /** Sends the answers that were held. */
  releaseAnswers(): void {
    for (const socket of this.#held ?? []) socket.resume();
    this.#held = undefined;
  }

  async remove(): Promise<void> {
    await this.cut();
    await rm(this.#directory, { recursive: true, force: true });
  }

  #join(near: Socket): void {
    const far = connect(this.#target);
    this.#servers.add(far);
    far.once('close', () => this.#servers.delete(far));
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from);
      if (this.#mute) from.pause();
      else from.on('data', (chunk) => to.write(chunk));
      from.on('error', () => undefined); // the other side goes with it
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
    if (this.#held) {
      far.pause();
      this.#held.push(far);
    }
  }
}
