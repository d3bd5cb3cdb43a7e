import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { AskedQuestion } from './asked-question.js';
import type { WorkNotes, WorkSource } from './work-notes.js';

interface WorkNotificationsOptions {
  readonly sources: readonly { readonly source: WorkSource; readonly notes: WorkNotes }[];
  readonly now: () => number;
}

const path = '/$notifications';
const protocol = 'drover-notifications';
/** Clients give up a connection that is silent for three times as long. */
const soundEveryMs = 10_000;
/** Positions of 1,024 partitions fit; a client with a defect must not fill the memory. */
const longestLine = 64 * 1024;
const mostQuestions = 100_000;

/**
 * Tells clients which entities have work, over one connection for any number of them: `GET /$notifications` with the header
 * `Upgrade: drover-notifications`, then lines of JSON in both directions.
 *
 *     client    {"watch":1,"service":"service-bus","entity":"orders"}     {"unwatch":1}
 *     emulator  {"work":1}     {"refused":1}     an empty line every ten seconds
 *
 * A question is answered once, at once if there is work already. So a client that asks again after a reconnect has missed nothing.
 */
export class WorkNotifications {
  readonly #options: WorkNotificationsOptions;
  readonly #connections = new Set<Duplex>();

  constructor(options: WorkNotificationsOptions) {
    this.#options = options;
  }

  /** Serves the upgrade requests of an HTTP server; those for other protocols are answered as if they asked for none. */
  serve(server: Server): void {
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.upgrade(server, request, socket, head);
    });
  }

  /** Serves one upgrade request of an HTTP server. */
  upgrade(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const isOurs = request.url === path && request.headers.upgrade?.toLowerCase() === protocol;
    if (!isOurs) {
      withoutUpgrade(server, request, socket, head);
      return;
    }
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${protocol}\r\n\r\n`);
    this.#accept(socket, head);
  }

  /** Cuts all connections. */
  close(): void {
    for (const socket of this.#connections) socket.destroy();
  }

  #accept(socket: Duplex, head: Buffer): void {
    const questions = new Map<number, AskedQuestion>();
    const sound = setInterval(() => void socket.write('\n'), soundEveryMs);
    sound.unref();
    this.#connections.add(socket);
    socket.once('close', () => {
      clearInterval(sound);
      this.#connections.delete(socket);
      for (const question of questions.values()) question.end();
    });
    socket.on('error', () => undefined); // `close` follows
    let rest = '';
    const decoder = new StringDecoder('utf8'); // sockets of an HTTP server do not decode
    const receive = (chunk: Buffer): void => {
      const lines = `${rest}${decoder.write(chunk)}`.split('\n');
      rest = lines.pop() ?? '';
      const areUnderstood = lines.every((line) => line === '' || this.#receive(line, questions, socket));
      if (!areUnderstood || rest.length > longestLine) socket.destroy();
    };
    socket.on('data', receive);
    if (head.length > 0) receive(head);
  }

  /** Returns false for a line that is not of the protocol. */
  #receive(line: string, questions: Map<number, AskedQuestion>, socket: Duplex): boolean {
    const fields = parseFields(line);
    if (!fields) return false;
    const { watch, unwatch } = fields;
    if (typeof unwatch === 'number') {
      questions.get(unwatch)?.end();
      questions.delete(unwatch);
      return true;
    }
    if (typeof watch !== 'number' || questions.has(watch) || questions.size >= mostQuestions) return false;
    const found = this.#options.sources.find(({ source }) => source.service === fields['service']);
    const question = found?.source.question(fields);
    if (!found || !question) {
      socket.write(`{"refused":${watch}}\n`);
      return true;
    }
    const answer = (): void => {
      questions.delete(watch);
      socket.write(`{"work":${watch}}\n`);
    };
    questions.set(watch, new AskedQuestion(question, found.notes, this.#options.now, answer));
    return true;
  }
}

function parseFields(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(line);
    return typeof parsed === 'object' && parsed !== null ? (parsed as Readonly<Record<string, unknown>>) : undefined; // fields are checked where they are read
  } catch {
    return undefined;
  }
}

const upgradeHeaders = new Set(['connection', 'upgrade', 'http2-settings']);

/** Some clients offer HTTP/2 with every request. A server that ignores the offer answers over HTTP/1.1. */
function withoutUpgrade(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`];
  const { rawHeaders } = request;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    if (!upgradeHeaders.has(name.toLowerCase())) lines.push(`${name}: ${value}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  server.emit('connection', socket);
}
