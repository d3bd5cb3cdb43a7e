import { createServer, type RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Clock } from '@drover/service-kit';
import { answerUnreadable } from './unreadable-request.js';
import { HttpPort } from './port.js';
import { serverOptions, type PortLimits } from './port-limits.js';
import type { FastLaneOptions } from './fast-lane/fast-lane.js';
import { connectionsExhausted } from '../errors/edge-errors.js';

export const portLimits: PortLimits = {
  headerBytes: 16_384,
  headers: 100,
  addressBytes: 8_192,
  firstByteMs: 5_000,
  headersMs: 15_000,
  requestMs: 30_000,
  writeMs: 30_000,
  keepAliveMs: 60_000,
  checkEveryMs: 1_000,
  connections: 100,
  connectionsPerClient: 100,
  reservedConnections: 8,
};

/** A connection of which a test controls every byte. */
export class TestClient {
  readonly socket: Socket;
  received = '';
  isClosed = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding('latin1').on('data', (text: string) => (this.received += text));
    socket.on('error', () => undefined).on('close', () => (this.isClosed = true));
  }

  static open(url: string, localAddress = '127.0.0.1'): Promise<TestClient> {
    const { hostname: host, port } = new URL(url);
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port: Number(port), localAddress });
      socket.once('error', reject).once('connect', () => resolve(new TestClient(socket)));
    });
  }

  send(text: string): this {
    this.socket.write(text, 'latin1');
    return this;
  }

  get statuses(): number[] {
    return [...this.received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }
}

export interface TestPortOptions {
  readonly limits?: Partial<PortLimits>;
  readonly clock: Clock;
  readonly serve: RequestListener;
  readonly serveFastLane?: FastLaneOptions['serve'] | undefined;
  readonly isFramed?: (target: string) => boolean;
  /** Called for requests that cannot be read. */
  readonly onUnreadable?: () => void;
}

/** A port on a free number of this machine, which answers unreadable requests as the processes do. */
export async function openPort(options: TestPortOptions): Promise<HttpPort> {
  const { limits, clock, serve, serveFastLane, isFramed, onUnreadable } = options;
  const all = { ...portLimits, ...limits };
  const server = createServer(serverOptions(all), serve);
  const port: HttpPort = new HttpPort(server, {
    host: '127.0.0.1',
    port: 0,
    limits: all,
    serveFastLane,
    ...(isFramed && { isFramed }),
    clock,
  });
  server.on('clientError', (error, socket) => {
    const connection = socket as Socket; // of a TCP server
    // Any error does: which one it is belongs to the processes.
    port.connections.refuseRest(connection, error, () =>
      answerUnreadable(connection, connectionsExhausted({ connections: 0, perClient: 0 }), 'unreadable'),
    );
    onUnreadable?.();
  });
  await port.listen();
  return port;
}
