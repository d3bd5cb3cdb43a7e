import { randomUUID } from 'node:crypto';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server as HttpServer,
} from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls';
import { AmqpConnection, type AmqpSocket } from './amqp-connection.js';
import { amqpConditions, type AmqpService, entityNotFound } from './amqp-service.js';
import { AccessControl } from './access-control.js';
import type { ConsumerLinkEnd } from './consumer-link-end.js';
import type { ProducerLinkEnd } from './producer-link-end.js';
import { sniffProtocol } from './protocol-sniffer.js';
import { RequestNodes } from './request-nodes.js';
import { createRheaContainer, type RheaConnection, type RheaContainer, type RheaLink } from './rhea-endpoints.js';
import type { SharedAccessKeys } from './sas-token.js';
import { acceptWebSocket, asksForWebSocket } from './web-socket.js';

export interface AmqpServerOptions {
  readonly services: readonly AmqpService[];
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0, any free port. */
  readonly port?: number;
  /** Serves plain HTTP (and HTTPS, with a certificate) on the same port, for example the admin REST API. */
  readonly http?: RequestListener;
  /** Further ports on which everything is served too, for clients whose ports are fixed. */
  readonly morePorts?: readonly number[];
  /** Serves upgrades of the server behind `http` to other protocols than AMQP over WebSockets. */
  readonly onUpgrade?: (server: HttpServer, request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** Accepts TLS on the same port. Without it a TLS client is refused with an alert. */
  readonly tls?: { readonly key: string | Buffer; readonly cert: string | Buffer };
  /** Checks the signatures of tokens. Without it every token is accepted. */
  readonly keys?: SharedAccessKeys;
  /** Default 1 MiB, the limit of a premium namespace. */
  readonly maxMessageBytes?: number;
  /** Unsettled transfers a producer may have in flight. Default 2,000: an SDK without credit waits a whole second. */
  readonly producerCredit?: number;
  /** Connections beyond it are refused. Default 10,000. */
  readonly maxConnections?: number;
  /** Told of what clients do wrong: protocol errors, refused TLS. Default: nothing. */
  readonly onProblem?: (problem: string) => void;
}

/** Serves AMQP 1.0 for the registered services, and HTTP and TLS beside it, on one port. */
export class AmqpServer {
  readonly #servers: Server[] = [];
  readonly #httpServer: HttpServer | undefined;
  readonly #tlsServer: TlsServer | undefined;
  readonly #container: RheaContainer;
  readonly #requests = new RequestNodes();
  readonly #access: AccessControl;
  readonly #connections = new Map<RheaConnection, AmqpConnection>();
  #nextConnectionId = 1;
  readonly #sockets = new Set<Socket>();
  readonly #limits: { maxMessageBytes: number; producerCredit: number };
  readonly #options: AmqpServerOptions;

  constructor(options: AmqpServerOptions) {
    this.#options = options;
    this.#limits = {
      maxMessageBytes: options.maxMessageBytes ?? 1024 * 1024,
      producerCredit: options.producerCredit ?? 2000,
    };
    this.#access = new AccessControl(options.keys);
    this.#httpServer = options.http && createHttpServer(options.http);
    if (this.#httpServer) this.#serveUpgrades(this.#httpServer);
    this.#tlsServer = options.tls && this.#createTlsServer(options.tls);
    this.#container = this.#createContainer();
  }

  /** Listens on all ports and returns the first. Rejects if one is in use; none is listened on then. */
  async start(): Promise<number> {
    const { host = '127.0.0.1', port = 0, morePorts = [] } = this.#options;
    try {
      const first = await this.#listen(host, port);
      for (const one of morePorts) await this.#listen(host, one);
      return first;
    } catch (error) {
      await this.#closePorts();
      throw error;
    }
  }

  async #listen(host: string, port: number): Promise<number> {
    const server = createServer((socket) => this.#onSocket(socket));
    server.maxConnections = this.#options.maxConnections ?? 10_000;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, () => {
        server.off('error', reject);
        resolve();
      });
    });
    this.#servers.push(server);
    return (server.address() as AddressInfo).port; // a TCP port was opened
  }

  async #closePorts(): Promise<void> {
    const open = this.#servers.splice(0);
    await Promise.all(open.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))));
  }

  /** Closes every connection with a retryable error and the port. Safe to call twice. */
  async stop(): Promise<void> {
    const closed = this.#closePorts();
    const reason = { condition: amqpConditions.connectionForced, description: 'The emulator is stopping.' };
    await Promise.all([...this.#connections.values()].map((connection) => connection.close(reason, 250)));
    for (const socket of this.#sockets) socket.destroy();
    this.#httpServer?.closeAllConnections();
    await closed;
  }

  /** Cuts every client connection without a word, as a network failure does. For tests of reconnecting clients. */
  dropConnections(): void {
    for (const connection of this.#connections.values()) connection.destroy();
  }

  #onSocket(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    socket.on('error', () => undefined); // a reset; `close` follows
    this.#route(socket, false);
  }

  #route(socket: Socket, secured: boolean): void {
    sniffProtocol(socket, (protocol) => {
      if (protocol === 'amqp') this.#acceptAmqp(socket);
      else if (protocol === 'tls' && !secured) this.#acceptTls(socket);
      else if (protocol === 'http' && this.#httpServer) this.#httpServer.emit('connection', socket);
      else socket.destroy();
    });
  }

  #serveUpgrades(server: HttpServer): void {
    server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      if (!asksForWebSocket(request)) {
        if (this.#options.onUpgrade) this.#options.onUpgrade(server, request, socket, head);
        else socket.destroy();
        return;
      }
      const stream = acceptWebSocket(request, socket, head);
      if (stream) this.#acceptAmqp(stream);
    });
  }

  #acceptTls(socket: Socket): void {
    if (this.#tlsServer) {
      this.#tlsServer.emit('connection', socket);
      return;
    }
    this.#problem(
      'a client opened TLS, but the emulator has no certificate; add UseDevelopmentEmulator=true to its connection string',
    );
    socket.end(Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28])); // alert: fatal, handshake failure
  }

  /** Terminates TLS for sockets that were accepted on our own port; it never listens itself. */
  #createTlsServer(certificate: NonNullable<AmqpServerOptions['tls']>): TlsServer {
    const server = createTlsServer({ ...certificate }, (secure) => {
      secure.on('error', () => undefined); // a reset; `close` follows
      this.#route(secure, true);
    });
    server.on('tlsClientError', (error) => this.#problem(`a TLS handshake failed: ${error.message}`));
    return server;
  }

  #acceptAmqp(socket: AmqpSocket): void {
    const connection = new AmqpConnection(this.#nextConnectionId++, this.#container, socket, this.#limits, {
      onProducer: (link, from) => this.#onProducer(link, from),
      onConsumer: (link, from) => this.#onConsumer(link, from),
      onClosed: ({ rheaConnection }) => this.#connections.delete(rheaConnection),
    });
    this.#connections.set(connection.rheaConnection, connection);
  }

  #createContainer(): RheaContainer {
    const container = createRheaContainer(`emulator-${randomUUID()}`);
    const linkEvents: Record<string, (connection: AmqpConnection, link: RheaLink) => void> = {
      sender_open: (connection, link) => connection.onSenderOpen(link),
      receiver_open: (connection, link) => connection.onReceiverOpen(link),
      sender_close: (connection, link) => connection.onLinkClosed(link),
      receiver_close: (connection, link) => connection.onLinkClosed(link),
    };
    for (const [event, handle] of Object.entries(linkEvents)) {
      container.on(event, (context) => {
        const connection = this.#connections.get(context.connection);
        const link = context.sender ?? context.receiver;
        if (connection && link) handle(connection, link);
      });
    }
    // Without a listener rhea turns an error of a peer into an uncaught exception.
    const errors = ['sender_error', 'receiver_error', 'session_error', 'connection_error'];
    for (const event of [...errors, 'session_close', 'connection_close', 'disconnected'])
      container.on(event, () => undefined);
    for (const event of ['protocol_error', 'error']) {
      container.on(event, (error: unknown) => this.#problem(`a client broke the protocol: ${String(error)}`));
    }
    return container;
  }

  #onProducer(link: ProducerLinkEnd, connection: AmqpConnection): void {
    if (isCbs(link.address)) {
      this.#requests.acceptRequestLink(link, connection, (request) => this.#access.putToken(request, connection));
      return;
    }
    const service = this.#serviceOf(link, connection);
    if (!service) return;
    if (isManagement(link.address)) {
      this.#requests.acceptRequestLink(link, connection, (request) => service.onRequest(request));
    } else service.onProducer(link);
  }

  #onConsumer(link: ConsumerLinkEnd, connection: AmqpConnection): void {
    if (isCbs(link.address)) {
      this.#requests.acceptReplyLink(link);
      return;
    }
    const service = this.#serviceOf(link, connection);
    if (!service) return;
    if (isManagement(link.address)) this.#requests.acceptReplyLink(link);
    else service.onConsumer(link);
  }

  /** Finds the service of the link's address, or refuses the link. */
  #serviceOf(link: ProducerLinkEnd | ConsumerLinkEnd, connection: AmqpConnection): AmqpService | undefined {
    if (link.address === '') {
      const description =
        'The link names no address. Transactions (a coordinator target) and dynamic nodes are not offered.';
      link.refuse({ condition: amqpConditions.notImplemented, description });
      return undefined;
    }
    const refusal = this.#access.refusal(connection);
    if (refusal) {
      link.refuse(refusal);
      return undefined;
    }
    const service = this.#options.services.find((candidate) => candidate.claims(link.address, connection));
    if (!service) link.refuse(entityNotFound(link.address));
    return service;
  }

  #problem(problem: string): void {
    this.#options.onProblem?.(problem);
  }
}

function isCbs(address: string): boolean {
  return address.toLowerCase() === '$cbs';
}

function isManagement(address: string): boolean {
  return /(^|\/)\$management$/i.test(address);
}
