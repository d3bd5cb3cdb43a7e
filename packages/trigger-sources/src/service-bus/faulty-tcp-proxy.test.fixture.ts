import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/**
 * - pass: as if there were no proxy
 * - refuse: closes each connection at once
 * - hang: accepts connections and never answers
 * - garbage: answers with bytes that are no AMQP
 */
type TcpFault = 'pass' | 'refuse' | 'hang' | 'garbage';

/** Stands before a real emulator and does to connections what networks do. */
export class FaultyTcpProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  fault: TcpFault = 'pass';
  /** Connections that clients opened. */
  connections = 0;
  #isFrozen = false;

  constructor(targetPort: number) {
    this.#server = createServer((socket) => this.#accept(socket, targetPort));
  }

  async start(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return (this.#server.address() as AddressInfo).port; // listening on TCP
  }

  /** Breaks all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Passes nothing on any more, in either direction, without closing anything. */
  freeze(): void {
    this.#isFrozen = true;
    this.fault = 'hang';
  }

  thaw(): void {
    this.#isFrozen = false;
    this.fault = 'pass';
    this.cut();
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(socket: Socket, targetPort: number): void {
    this.connections += 1;
    this.#keep(socket);
    if (this.fault === 'refuse') return void socket.destroy();
    if (this.fault === 'garbage') return void socket.end('HTTP/1.1 418 no AMQP here\r\n\r\n'.repeat(5));
    if (this.fault === 'hang') return void socket.resume();
    const onward = connect(targetPort, '127.0.0.1');
    this.#keep(onward);
    this.#forward(socket, onward);
    this.#forward(onward, socket);
  }

  #forward(from: Socket, to: Socket): void {
    from.on('data', (bytes) => {
      if (!this.#isFrozen) to.write(bytes);
    });
    from.once('close', () => to.destroy());
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
  }
}
