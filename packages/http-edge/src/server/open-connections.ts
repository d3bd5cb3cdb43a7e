import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

interface Turn {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Entry {
  readonly abort: AbortController;
  /** The request that is being served. */
  current: Turn | undefined;
  /** Requests that were sent ahead of the answer to the current one. */
  readonly waiting: Turn[];
  /** Answers what could not be read, once the requests before it have their answers. */
  refuse: (() => void) | undefined;
  /** Nothing is read from the connection for now. */
  isHeld: boolean;
}

/** Requests of one connection that may wait for their turn before no more is read from it. */
const waitingPerConnection = 16;
/** Of all connections together. Above that, connections that send ahead are closed: each waiting request takes some kilobytes. */
const mostWaiting = 10_000;

/**
 * The connections of Node's server and their requests. Node begins with every request as soon as it is parsed: a client that
 * sends thousands ahead of their answers would hold the process for as long as all of them take. Here the requests of a
 * connection are served one after the other, each in a turn of its own, as on the fast lane.
 *
 * Node takes a connection that has not sent a whole request for a busy one: by this count a silent client does not hold up a
 * drain until its deadline.
 */
export class OpenConnections {
  /** Bounded by the number of connections that the port accepts. */
  readonly #entries = new Map<Socket, Entry>();
  readonly #serve: (turn: Turn) => void;
  #waiting = 0;
  #isClosing = false;

  /** Takes the place of the server's listeners for requests, and calls them unless `answers` has answered. */
  constructor(server: Server, answers: (request: IncomingMessage, response: ServerResponse) => boolean) {
    const listeners = server.listeners('request') as RequestListener[]; // what this event calls
    this.#serve = ({ request, response }) => {
      if (answers(request, response)) return;
      for (const listener of listeners) listener.call(server, request, response);
    };
    server.removeAllListeners('request');
    server.on('request', (request, response) => this.#arrived({ request, response }));
    server.on('connection', (socket) => this.#add(socket));
  }

  /** Aborts when the connection closes. One signal for all of its requests: a new one costs a tenth of a small request. */
  signalOf(socket: Socket): AbortSignal {
    return this.#of(socket).abort.signal;
  }

  /**
   * For a `clientError`: the rest of the latest request, or what arrived behind it, cannot be read. Calls `answer`, which
   * writes the error and closes the connection, when the requests before have their answers. Closes the connection without it
   * if the answer to the unreadable request has begun: the error would be taken for a part of that.
   */
  refuseRest(socket: Socket, { code }: NodeJS.ErrnoException, answer: () => void): void {
    const entry = this.#of(socket);
    if (entry.refuse) return;
    const { current, waiting } = entry;
    if (code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    const latest = waiting.at(-1) ?? current;
    if (!latest || !current) return answer();
    if (!latest.request.complete && latest === current) {
      if (!current.response.headersSent) answer();
      else if (current.response.writableEnded) socket.destroySoon();
      else socket.destroy();
      return;
    }
    if (!latest.request.complete) this.#takeWaiting(waiting.pop());
    // Bytes behind a request that was to be the last one of its connection belong to no request: the connection ends without them.
    // Reading goes on, so that the end of the connection is noticed; everything that arrives is reported once more, and ignored.
    entry.refuse = code === 'HPE_CLOSED_CONNECTION' ? () => socket.destroySoon() : answer;
  }

  /** Closes connections without a request now, and each of the others after its last one. */
  close(): void {
    this.#isClosing = true;
    for (const [socket, { current }] of this.#entries) if (!current) socket.destroy();
  }

  #arrived(turn: Turn): void {
    const { socket } = turn.request;
    const entry = this.#of(socket);
    if (!entry.current) return this.#begin(socket, entry, turn);
    entry.waiting.push(turn);
    this.#waiting += 1;
    if (this.#waiting > mostWaiting) socket.destroy();
    else if (mustWait(entry)) hold(socket, entry);
  }

  #begin(socket: Socket, entry: Entry, turn: Turn): void {
    entry.current = turn;
    turn.response.once('close', () => this.#answered(socket, entry));
    this.#serve(turn);
  }

  #answered(socket: Socket, entry: Entry): void {
    entry.current = undefined;
    if (!socket.writable) return;
    const next = this.#takeWaiting(entry.waiting.shift());
    if (next) {
      entry.current = next;
      // In a later turn of the event loop: other connections come first.
      setImmediate(() => {
        if (!socket.destroyed) this.#begin(socket, entry, next);
      });
    } else if (entry.refuse) entry.refuse();
    else if (this.#isClosing) socket.destroySoon();
    if (!entry.isHeld || mustWait(entry)) return;
    entry.isHeld = false;
    socket.resume();
  }

  #takeWaiting(turn: Turn | undefined): Turn | undefined {
    if (turn) this.#waiting -= 1;
    return turn;
  }

  #of(socket: Socket): Entry {
    return this.#entries.get(socket) ?? this.#add(socket);
  }

  #add(socket: Socket): Entry {
    const abort = new AbortController();
    const entry: Entry = { abort, current: undefined, waiting: [], refuse: undefined, isHeld: false };
    if (socket.closed) return entry;
    this.#entries.set(socket, entry);
    // Node's server resumes its connections with each answer.
    socket.on('resume', () => {
      if (entry.isHeld) socket.pause();
    });
    socket.once('close', () => {
      this.#entries.delete(socket);
      this.#waiting -= entry.waiting.splice(0).length;
      abort.abort(new Error('The client closed the connection.'));
    });
    return entry;
  }
}

/** Whether enough has been read of a connection. */
function mustWait({ waiting }: Entry): boolean {
  return waiting.length > waitingPerConnection;
}

function hold(socket: Socket, entry: Entry): void {
  entry.isHeld = true;
  socket.pause();
}
