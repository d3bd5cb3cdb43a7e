import { once } from 'node:events';
import net from 'node:net';
import { serveRequests } from '../../harness/program.js';
import { MessageReader } from '../load/message-reader.js';
import { noteExecution } from '../note-execution.js';
import type { Listening } from './serve-http.js';

/** How long a call of `/slow` takes. */
export const slowMs = 10;

const body = '{"ok":true}';
const answer = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
);

/**
 * The endpoint that every proxy posts to: `/noop` answers at once, `/slow` after 10 ms, `/noted` says that it was called.
 * Nothing but sockets: what it does not use of the cores is left for those that are measured.
 */
const server = net.createServer({ noDelay: true }, (socket) => {
  const reader = new MessageReader(({ head, body: sent }) => {
    if (head.startsWith('POST /slow')) {
      setTimeout(() => socket.write(answer), slowMs);
      return;
    }
    if (head.startsWith('POST /noted')) note(sent);
    socket.write(answer);
  });
  socket.on('data', (data: Buffer) => reader.push(data));
  socket.on('error', () => socket.destroy());
});

function note(sent: Buffer): void {
  const text = sent.toString('latin1');
  const [, recorder] = /"recorder":(\d+)/.exec(text) ?? [];
  const [, number] = /"n":"(\d+)"/.exec(text) ?? [];
  if (recorder === undefined || number === undefined) throw new Error(`no job that can be noted: ${text}`);
  noteExecution(Number(recorder), Number(number));
}

serveRequests<Record<string, never>>(async (): Promise<Listening> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as net.AddressInfo).port, pid: process.pid }; // it listens on TCP
});
