import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Emulators } from '../emulators.js';
import { startEmulators } from '../start-emulators.js';

let emulators: Emulators;
beforeAll(async () => {
  emulators = await startEmulators({ ports: { amqp: 0, queue: 0 } });
});
afterAll(() => emulators.stop());

type Port = 'amqp' | 'queue';

/** A connection after the upgrade, with the lines that it receives. */
async function open(
  port: Port,
): Promise<{ readonly socket: Socket; readonly next: () => Promise<string | undefined> }> {
  const socket = connect(emulators.ports[port] ?? 0, '127.0.0.1');
  socket.write(
    'GET /$notifications HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: drover-notifications\r\n\r\n',
  );
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  const next = async (): Promise<string | undefined> => {
    const { value, done } = await lines.next();
    return done === true ? undefined : value;
  };
  expect(await next()).toContain('101');
  while ((await next()) !== '');
  return { socket, next };
}

describe('the notification endpoint', () => {
  it.each<Port>(['amqp', 'queue'])('refuses what it cannot answer, and goes on: port %s', async (port) => {
    const { socket, next } = await open(port);
    socket.write('{"watch":1,"service":"tables","entity":"x"}\n{"watch":2,"service":"queues"}\n');
    socket.write('{"watch":3,"service":"event-hubs","entity":"x","initial":"middle","positions":{}}\n');
    expect([await next(), await next(), await next()]).toEqual(['{"refused":1}', '{"refused":2}', '{"refused":3}']);
    socket.destroy();
  });

  it.each([
    ['a line that is no JSON', 'watch 1\n'],
    ['a line without a number', '{"watch":"1"}\n'],
    [
      'a number that is in use',
      '{"watch":1,"service":"queues","account":"a","entity":"x"}\n{"watch":1,"service":"queues","account":"a","entity":"y"}\n',
    ],
    ['a line without an end', 'x'.repeat(70_000)],
  ])('closes the connection after %s', async (_, text) => {
    const { socket, next } = await open('queue');
    socket.on('error', () => undefined);
    socket.write(text);
    expect(await next()).toBeUndefined();
  });

  it('reads a question that arrives in parts', async () => {
    const { socket, next } = await open('amqp');
    const question = Buffer.from('{"watch":7,"service":"service-bus","entity":"/"}\n');
    socket.write(question.subarray(0, 10));
    await new Promise((resolve) => setImmediate(resolve));
    socket.write(question.subarray(10));
    expect(await next()).toBe('{"refused":7}');
    socket.destroy();
  });

  it.each<Port>(['amqp', 'queue'])('answers clients that offer HTTP/2 over HTTP/1.1: port %s', async (port) => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABk' };
      const sent = request(
        { port: emulators.ports[port], host: '127.0.0.1', path: '/devstoreaccount1/missing', method: 'PUT', headers },
        (response) => {
          response.resume();
          resolve(response.statusCode);
        },
      );
      sent.on('error', reject);
      sent.end('body');
    });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
  });
});
