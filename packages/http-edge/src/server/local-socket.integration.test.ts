import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import path from 'node:path';
import { systemClock } from '@drover/service-kit';
import { eventually, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { LocalSocket, localSocketFile } from './local-socket.js';
import { openPort } from './port.test.fixture.js';
import type { HttpPort } from './port.js';

const never = new AbortController().signal;
async function get(socketPath: string): Promise<string> {
  const outgoing = request({ socketPath, path: '/a', agent: false }).end();
  const incoming = await new Promise<IncomingMessage>((resolve, reject) =>
    outgoing.once('response', resolve).once('error', reject),
  );
  let text = '';
  for await (const chunk of incoming) text += String(chunk);
  return text;
}

async function withPort(use: (port: HttpPort) => Promise<void>, onFastLane = true): Promise<void> {
  const port = await openPort({
    clock: systemClock,
    serve: (_, response) => response.end("Node's server"),
    serveFastLane: onFastLane
      ? (_, exchange) => {
          exchange.answer(200, [], Buffer.from('fast lane'));
          return true;
        }
      : undefined,
  });
  try {
    await use(port);
  } finally {
    await port.stop();
  }
}

describe('a local socket', () => {
  it('serves what the port serves, takes the place of one that a killed process left, and goes with the drain', () =>
    withScratchDirectory((directory) =>
      withPort(async (server) => {
        const file = localSocketFile(directory, new URL(server.url).port);
        await mkdir(path.join(directory, 'other'));
        const killed = new LocalSocket({ directory, server, onUnusable: () => expect.unreachable() });
        await killed.start();
        const socket = new LocalSocket({ directory, server, onUnusable: () => expect.unreachable() });
        await socket.start();
        expect(await get(file)).toBe("Node's server"); // the client closes its connection, which the fast lane does not serve
        const kept = connect(file);
        let received = '';
        kept.setEncoding('latin1').on('data', (text: string) => (received += text));
        kept.write('GET /a HTTP/1.1\r\nhost: a\r\n\r\n');
        await eventually(() => expect(received).toContain('fast lane'));
        expect(server.openConnections).toBe(1);
        await socket.drain();
        expect(existsSync(file)).toBe(false);
        await server.drain(never);
        await eventually(() => expect(kept.destroyed).toBe(true));
      }),
    ));

  it('leaves clients to the port if it cannot be opened', () =>
    withPort(async (server) => {
      const problems: unknown[] = [];
      const onUnusable = (problem: unknown): void => void problems.push(problem);
      const socket = new LocalSocket({ directory: '/does/not/exist', server, onUnusable });
      await socket.start();
      const { port } = new URL(server.url);
      expect(problems).toEqual([{ file: `/does/not/exist/${port}.sock`, reason: 'EACCES' }]);
      await socket.stop();
    }));
});
