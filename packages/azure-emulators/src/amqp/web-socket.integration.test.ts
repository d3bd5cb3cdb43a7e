import { once } from 'node:events';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AmqpServer } from './amqp-server.js';

let server: AmqpServer;
let port: number;
beforeAll(async () => {
  server = new AmqpServer({ services: [], http: (_request, response) => void response.end('http') });
  port = await server.start();
});
afterAll(() => server.stop());

/** The client's half of RFC 6455: every frame is masked. */
class WebSocketClient {
  received = Buffer.alloc(0);
  isClosed = false;
  readonly #socket: Socket;

  readonly headers: Readonly<Record<string, string>>;

  constructor(socket: Socket, headers: Readonly<Record<string, string>>) {
    this.headers = headers;
    this.#socket = socket;
    socket.on('data', (chunk) => (this.received = Buffer.concat([this.received, chunk])));
    socket.on('close', () => (this.isClosed = true));
    socket.on('error', () => undefined);
  }

  static async open(protocols: string): Promise<WebSocketClient> {
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-protocol': protocols,
    };
    const opening = request({ port, host: '127.0.0.1', path: '/$servicebus/websocket', headers });
    opening.end();
    const [response, socket] = (await once(opening, 'upgrade')) as [{ headers: Record<string, string> }, Socket];
    return new WebSocketClient(socket, response.headers);
  }

  write(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  send(opcode: number, payload: Buffer): void {
    const mask = Buffer.from([1, 2, 3, 4]);
    const masked = payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0));
    this.write(Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | payload.length]), mask, masked]));
  }

  destroy(): void {
    this.#socket.destroy();
  }
}

const amqpHeader = Buffer.from('AMQP\0\x01\0\0', 'latin1');

describe('AMQP over a WebSocket', () => {
  it.each(['amqp', 'AMQPWSB10', 'other, amqp'])('is served to a client that offers %s', async (protocols) => {
    const client = await WebSocketClient.open(protocols);
    // The answer to this key is the example of the RFC.
    expect(client.headers['sec-websocket-accept']).toBe('s3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
    expect(protocols).toContain(client.headers['sec-websocket-protocol']);
    client.send(2, amqpHeader.subarray(0, 3)); // one AMQP header in two frames
    client.send(0, amqpHeader.subarray(3));
    await eventually(() => expect(client.received.includes(amqpHeader)).toBe(true));
    expect(client.received[0]).toBe(0x82);
    client.destroy();
  });

  it('answers a ping, and closes when the client does', async () => {
    const client = await WebSocketClient.open('amqp');
    client.send(9, Buffer.from('still there?'));
    await eventually(() => expect(client.received.toString()).toContain('still there?'));
    expect(client.received[0]).toBe(0x8a);
    client.send(8, Buffer.from([0x03, 0xe8]));
    await eventually(() => expect(client.isClosed).toBe(true));
  });

  it.each([
    ['is not masked', Buffer.from([0x82, 1, 0])],
    ['is text', Buffer.from([0x81, 0x80, 0, 0, 0, 0])],
    ['is larger than any message', Buffer.from([0x82, 0xff, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0])],
  ])('ends a connection with a frame that %s', async (_name, bytes) => {
    const client = await WebSocketClient.open('amqp');
    client.write(bytes);
    await eventually(() => expect(client.isClosed).toBe(true));
  });

  it('refuses a client that does not offer it', async () => {
    const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': 'x' };
    const opening = request({ port, host: '127.0.0.1', headers });
    opening.end();
    const [response] = (await once(opening, 'response')) as [{ statusCode: number; resume(): void }];
    response.resume();
    expect(response.statusCode).toBe(400);
  });
});
