import { randomUUID } from 'node:crypto';
import { recordsPathName } from '@drover/contracts';
import type { Clock } from '@drover/service-kit';
import type { ConnectionHandle } from './connection-handle.js';
import {
  readHandoffMessage,
  sendConnection,
  tell,
  type ConnectionMessage,
  type IpcEnd,
  type PeerMessage,
} from './connection-messages.js';

/** A connection on its way to another process. */
export interface PassedConnection {
  readonly handle: ConnectionHandle;
  /** What was read of the connection and not answered; often the next request. */
  readonly received: Buffer;
}

/** Passes connections to another process, and takes those that it passes. */
export interface ConnectionChannel {
  /** Whether a connection can be passed at this moment. */
  readonly isOpen: boolean;
  /** Passes a connection. While no process is there to take it, it waits for one, and is closed when that takes too long. */
  pass(connection: PassedConnection): void;
  /** Tells the other process which names below `/api/` it does not serve: requests for them go back with their connection. */
  reserve(names: readonly string[]): void;
  /** Whether the other process has reserved the name that a request target has below `/api/`. */
  isReserved(target: string): boolean;
  /** Resolves when no passed connection is under way. Those that wait for a process are closed, now and from now on. */
  drain(): Promise<void>;
  /** Closes the connections that are not taken, and all that are passed later. */
  cut(): void;
  /** Called for each connection that the other process passes. */
  onConnection: ((connection: PassedConnection) => void) | undefined;
  /** Called for a passed connection that the other process has not taken before it ended. Undefined: it waits for the next process. */
  onReturned: ((connection: PassedConnection) => void) | undefined;
}

/**
 * Connections that are sent and not taken yet. The process that takes them, or the relay, may be frozen: with two it holds up no
 * more than these, and further requests go by the proxy.
 */
const maxPending = 2;
/** How long a connection waits for a process that takes it: as long as a restart may last. */
const waitForPeerMs = 10_000;

/**
 * The channel of a child process: its parent relays connections to the other process. A passed connection has one owner at any time,
 * whichever process is killed:
 *
 * - waiting: no process is there; it is sent to the next one, or closed
 * - pending: it is sent, and this process has a copy that it does not read. When the other process ends, the connection is this
 *   process's again: no byte of it was read there
 * - taken: the other process has said so, which it does before it reads; the copy is closed
 */
export class IpcConnectionChannel implements ConnectionChannel {
  readonly #end: IpcEnd;
  readonly #clock: Clock;
  readonly #sender = randomUUID();
  /** By id. */
  readonly #pending = new Map<string, PassedConnection>();
  /** With the function that cancels its timeout. */
  readonly #waiting = new Map<PassedConnection, () => void>();
  #sent = 0;
  /** The incarnation of the other process, if it is ready. */
  #peer: number | undefined;
  #reserved: ReadonlySet<string> = new Set();
  #isDraining = false;
  #isCut = false;
  #onSettled: (() => void)[] = [];
  onConnection: ((connection: PassedConnection) => void) | undefined;
  onReturned: ((connection: PassedConnection) => void) | undefined;

  constructor(end: IpcEnd, clock: Clock) {
    this.#end = end;
    this.#clock = clock;
    end.on('message', (message, handle) => this.#receive(message, handle));
  }

  get isOpen(): boolean {
    return this.#peer !== undefined && this.#pending.size < maxPending;
  }

  pass(connection: PassedConnection): void {
    if (this.#isCut) return connection.handle.close();
    if (this.#peer === undefined) return this.#wait(connection);
    this.#sent += 1;
    const id = `${this.#sender}:${this.#sent}`;
    this.#pending.set(id, connection);
    const { handle, received } = connection;
    const message = { type: 'connection', id, to: this.#peer, received: received.toString('base64') } as const;
    sendConnection(this.#end, message, handle, () => undefined);
  }

  reserve(names: readonly string[]): void {
    tell(this.#end, { type: 'connection-reserved', names });
  }

  isReserved(target: string): boolean {
    if (this.#reserved.size === 0) return false;
    const name = recordsPathName(target);
    return name !== undefined && this.#reserved.has(name);
  }

  drain(): Promise<void> {
    this.#isDraining = true;
    for (const connection of this.#takeWaiting()) connection.handle.close();
    return this.#pending.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#onSettled.push(resolve));
  }

  cut(): void {
    this.#isCut = true;
    for (const { handle } of [...this.#takeWaiting(), ...this.#pending.values()]) handle.close();
    this.#pending.clear();
    this.#settled();
  }

  #receive(received: unknown, receivedHandle: unknown): void {
    const read = readHandoffMessage(received, receivedHandle);
    if (!read) return;
    if ('handle' in read) return this.#take(read.message, read.handle);
    const { message } = read;
    switch (message.type) {
      case 'connection-taken':
        return this.#taken(message.id);
      case 'connection-peer':
        return this.#peerChanged(message);
      case 'connection-reserved':
        this.#reserved = new Set(message.names);
    }
  }

  /** Reads nothing of a connection until the system has the message that says so: without it, the sender would serve the connection as well. */
  #take({ id, received }: ConnectionMessage, handle: ConnectionHandle): void {
    tell(this.#end, { type: 'connection-taken', id }, (error) => {
      if (error || !this.onConnection) handle.close();
      else this.onConnection({ handle, received: Buffer.from(received, 'base64') });
    });
  }

  #taken(id: string): void {
    this.#pending.get(id)?.handle.close();
    if (this.#pending.delete(id)) this.#settled();
  }

  #peerChanged({ incarnation }: PeerMessage): void {
    if (incarnation === this.#peer) return;
    this.#peer = incarnation;
    const returned = [...this.#pending.values()];
    this.#pending.clear();
    for (const connection of returned) {
      if (this.onReturned) this.onReturned(connection);
      else this.pass(connection);
    }
    if (incarnation !== undefined) for (const connection of this.#takeWaiting()) this.pass(connection);
    this.#settled();
  }

  #wait(connection: PassedConnection): void {
    if (this.#isDraining) return connection.handle.close();
    const giveUp = (): void => {
      this.#waiting.delete(connection);
      connection.handle.close();
    };
    this.#waiting.set(connection, this.#clock.after(waitForPeerMs, giveUp));
  }

  #takeWaiting(): readonly PassedConnection[] {
    for (const cancel of this.#waiting.values()) cancel();
    const connections = [...this.#waiting.keys()];
    this.#waiting.clear();
    return connections;
  }

  #settled(): void {
    if (this.#pending.size === 0) for (const resolve of this.#onSettled.splice(0)) resolve();
  }
}
