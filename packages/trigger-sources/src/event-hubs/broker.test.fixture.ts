import { connect, createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import rhea, { type Connection, type EventContext, type Message, type Sender } from 'rhea';

export interface TestServer {
  readonly port: number;
  /** Connections that were opened until now. */
  readonly connections: () => number;
  /** Cuts all connections. */
  cut(): void;
  stop(): Promise<void>;
}

/** Starts a TCP server on a free port that treats each connection as told. */
export async function serve(onSocket: (socket: Socket) => void): Promise<TestServer> {
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createServer((socket) => {
    count += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    onSocket(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port, // it listens on a port
    connections: () => count,
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    stop: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** Passes everything to another port of this machine. */
export function passingTo(port: number): (socket: Socket) => void {
  return (socket) => {
    const target = connect(port, '127.0.0.1');
    target.on('error', () => socket.destroy());
    socket.on('close', () => target.destroy());
    socket.pipe(target).pipe(socket);
  };
}

/** A broker that answers every request on `$cbs` and `$management` with the given status. */
export function refusing(answers: {
  readonly cbs: Readonly<Record<string, unknown>>;
  readonly management: Readonly<Record<string, unknown>>;
}): (socket: Socket) => void {
  return (socket) => {
    const container = rhea.create_container();
    for (const event of ['error', 'disconnected', 'connection_error', 'protocol_error'])
      container.on(event, () => undefined);
    const replies = new Map<string, Sender>();
    container.on('sender_open', ({ sender }: EventContext) => {
      if (!sender) return;
      sender.set_source(sender.source);
      sender.set_target(sender.target);
      replies.set(sender.name, sender);
    });
    container.on('receiver_open', ({ receiver }: EventContext) => {
      receiver?.set_target(receiver.target);
      receiver?.set_source(receiver.source);
    });
    container.on('message', ({ message, receiver }: EventContext & { message: Message }) => {
      const properties = receiver?.target.address === '$cbs' ? answers.cbs : answers.management;
      replies.get(String(message.reply_to))?.send({
        correlation_id: message.message_id ?? '',
        application_properties: properties,
        body: undefined,
      });
    });
    const options = { reconnect: false, port: 0 } as const;
    (container.create_connection(options) as Connection & { accept(socket: Socket): void }).accept(socket); // its type lacks `accept`
  };
}
