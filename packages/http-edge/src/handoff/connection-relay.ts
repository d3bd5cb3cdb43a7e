import type { ConnectionHandle } from './connection-handle.js';
import {
  readHandoffMessage,
  sendConnection,
  tell,
  type ConnectionMessage,
  type IpcEnd,
  type ReservedMessage,
  type TakenMessage,
} from './connection-messages.js';

/** A process that takes part. */
interface Side {
  readonly end: IpcEnd;
  readonly incarnation: number;
  /** This process's copies of connections that are on their way to it. */
  readonly underWay: Set<ConnectionHandle>;
}

/**
 * Relays connections between two child processes, which have no channel of their own.
 *
 * - A sender keeps its copy of a connection until the receiver says that it has taken it. The relay passes both on in order.
 * - A connection for a process that has ended is dropped here: its sender hears of that end, and goes on with its own copy. So it never
 *   reaches the next process of the same side, too.
 * - Node sends one connection at a time and forgets those that wait when a process ends: the relay closes its copies then, since a
 *   connection stays open, without an answer, for as long as any process has a copy.
 */
export class ConnectionRelay {
  readonly #sides: readonly [string, string];
  readonly #processes = new Map<string, Side>();
  /** What each side has reserved at last; a process that comes later is told. */
  readonly #reserved = new Map<string, ReservedMessage>();
  #incarnations = 0;

  constructor(...sides: [string, string]) {
    this.#sides = sides;
  }

  /** The process of this side is ready to take connections. Processes of other sides take none. */
  attach(side: string, end: IpcEnd): void {
    if (!this.#sides.includes(side)) return;
    this.#incarnations += 1;
    this.#processes.set(side, { end, incarnation: this.#incarnations, underWay: new Set() });
    end.on('message', (received, handle) => {
      const read = readHandoffMessage(received, handle);
      if (!read) return;
      if ('handle' in read) this.#relay(side, read.message, read.handle);
      else if (read.message.type === 'connection-reserved') this.#reserve(side, read.message);
      else if (read.message.type === 'connection-taken') this.#tellOther(side, read.message);
    });
    const reserved = this.#reserved.get(this.#otherThan(side));
    if (reserved) tell(end, reserved);
    this.#tellBoth();
  }

  /** The process of this side has exited, and all that it sent has been received. */
  detach(side: string): void {
    const ended = this.#processes.get(side);
    if (!ended) return;
    this.#processes.delete(side);
    for (const handle of ended.underWay) handle.close();
    ended.underWay.clear();
    this.#tellBoth();
  }

  #relay(from: string, message: ConnectionMessage, handle: ConnectionHandle): void {
    const receiver = this.#processes.get(this.#otherThan(from));
    if (receiver?.incarnation !== message.to) return handle.close();
    receiver.underWay.add(handle);
    sendConnection(receiver.end, message, handle, () => {
      if (receiver.underWay.delete(handle)) handle.close();
    });
  }

  #reserve(from: string, message: ReservedMessage): void {
    this.#reserved.set(from, message);
    this.#tellOther(from, message);
  }

  #tellOther(from: string, message: TakenMessage | ReservedMessage): void {
    const other = this.#processes.get(this.#otherThan(from));
    if (other) tell(other.end, message);
  }

  #tellBoth(): void {
    for (const [side, { end }] of this.#processes) {
      const incarnation = this.#processes.get(this.#otherThan(side))?.incarnation;
      tell(end, { type: 'connection-peer', ...(incarnation !== undefined && { incarnation }) });
    }
  }

  #otherThan(side: string): string {
    const [first, second] = this.#sides;
    return side === first ? second : first;
  }
}
