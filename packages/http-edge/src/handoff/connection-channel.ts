import { recordsPathName } from '@drover/contracts';
import { isConnectionHandle, type ConnectionHandle } from './connection-handle.js';

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
  pass(connection: PassedConnection): void;
  /** Tells the other process which names below `/api/` it does not serve: requests for them go back with their connection. */
  reserve(names: readonly string[]): void;
  /** Whether the other process has reserved the name that a request target has below `/api/`. */
  isReserved(target: string): boolean;
  /** Called for each connection that the other process passes. */
  onConnection: ((connection: PassedConnection) => void) | undefined;
}

/** One end of an IPC channel of Node.js: `process` in a child, a `ChildProcess` in its parent. */
export interface IpcEnd {
  send?(message: unknown, handle: never, options: undefined, callback: (error: Error | null) => void): boolean;
  on(event: 'message', listener: (message: unknown, handle: unknown) => void): unknown;
}

/** A connection as a message; the handle travels beside it. */
interface ConnectionMessage {
  readonly type: 'connection';
  /** In base64. */
  readonly received: string;
}

/** Tells a process whether the process at the other end of its relay takes connections. */
interface PeerMessage {
  readonly type: 'connection-peer';
  readonly isReady: boolean;
}

/** Tells the process at the other end which names below `/api/` are not its own. */
interface ReservedMessage {
  readonly type: 'connection-reserved';
  readonly names: readonly string[];
}

/**
 * Connections that are sent and not known to have arrived. Node sends one at a time and waits for its receipt: with two, a
 * relay that does not run holds up no more than these, and further requests go by the proxy.
 */
const maxPending = 2;

/** The channel of a child process: its parent relays connections to the other process. */
export class IpcConnectionChannel implements ConnectionChannel {
  readonly #end: IpcEnd;
  #pending = 0;
  #isPeerReady = false;
  #reserved: ReadonlySet<string> = new Set();
  onConnection: ((connection: PassedConnection) => void) | undefined;

  constructor(end: IpcEnd) {
    this.#end = end;
    end.on('message', (message, handle) => this.#receive(message, handle));
  }

  get isOpen(): boolean {
    return this.#isPeerReady && this.#pending < maxPending;
  }

  pass({ handle, received }: PassedConnection): void {
    this.#pending += 1;
    sendConnection(this.#end, { type: 'connection', received: received.toString('base64') }, handle, () => {
      this.#pending -= 1;
    });
  }

  reserve(names: readonly string[]): void {
    const message: ReservedMessage = { type: 'connection-reserved', names };
    tell(this.#end, message);
  }

  isReserved(target: string): boolean {
    if (this.#reserved.size === 0) return false;
    const name = recordsPathName(target);
    return name !== undefined && this.#reserved.has(name);
  }

  #receive(message: unknown, handle: unknown): void {
    if (isPeerMessage(message)) this.#isPeerReady = message.isReady;
    if (isReservedMessage(message)) this.#reserved = new Set(message.names);
    if (!isConnectionMessage(message) || !isConnectionHandle(handle)) return;
    const received = Buffer.from(message.received, 'base64');
    if (this.onConnection) this.onConnection({ handle, received });
    else handle.close();
  }
}

/**
 * Relays connections between two child processes, which have no channel of their own. A connection for a process that is
 * not there goes back to its sender.
 */
export class ConnectionRelay {
  readonly #ends = new Map<string, IpcEnd>();
  readonly #sides: readonly [string, string];
  /** What each side has reserved at last; a process that comes later is told. */
  readonly #reserved = new Map<string, ReservedMessage>();

  constructor(...sides: [string, string]) {
    this.#sides = sides;
  }

  /** The process of this side is ready to take connections. Processes of other sides take none. */
  attach(side: string, end: IpcEnd): void {
    if (!this.#sides.includes(side)) return;
    this.#ends.set(side, end);
    end.on('message', (message, handle) => {
      if (isConnectionMessage(message) && isConnectionHandle(handle)) this.#relay(side, end, message, handle);
      if (isReservedMessage(message)) this.#reserve(side, message);
    });
    const reserved = this.#reserved.get(this.#otherThan(side));
    if (reserved) tell(end, reserved);
    this.#tellBoth();
  }

  /** The process of this side has exited. */
  detach(side: string): void {
    if (this.#ends.delete(side)) this.#tellBoth();
  }

  #relay(from: string, sender: IpcEnd, message: ConnectionMessage, handle: ConnectionHandle): void {
    sendConnection(this.#ends.get(this.#otherThan(from)) ?? sender, message, handle);
  }

  #reserve(from: string, message: ReservedMessage): void {
    this.#reserved.set(from, message);
    const other = this.#ends.get(this.#otherThan(from));
    if (other) tell(other, message);
  }

  #tellBoth(): void {
    for (const [side, end] of this.#ends)
      tell(end, { type: 'connection-peer', isReady: this.#ends.has(this.#otherThan(side)) });
  }

  #otherThan(side: string): string {
    const [first, second] = this.#sides;
    return side === first ? second : first;
  }
}

/** Sends a connection, and closes this process's copy of it: the system keeps the connection open while it travels. */
function sendConnection(end: IpcEnd, message: ConnectionMessage, handle: ConnectionHandle, sent?: () => void): void {
  const close = (): void => {
    handle.close();
    sent?.();
  };
  if (end.send)
    end.send(message, handle as never, undefined, close); // the public types do not list bare handles
  else close();
}

function tell(end: IpcEnd, message: PeerMessage | ReservedMessage): void {
  end.send?.(message, undefined as never, undefined, () => undefined);
}

function isReservedMessage(message: unknown): message is ReservedMessage {
  const { type, names } = (message ?? {}) as Partial<ReservedMessage>; // checked here
  return type === 'connection-reserved' && Array.isArray(names);
}

function isConnectionMessage(message: unknown): message is ConnectionMessage {
  const { type, received } = (message ?? {}) as Partial<ConnectionMessage>; // checked here
  return type === 'connection' && typeof received === 'string';
}

function isPeerMessage(message: unknown): message is PeerMessage {
  const { type, isReady } = (message ?? {}) as Partial<PeerMessage>; // checked here
  return type === 'connection-peer' && typeof isReady === 'boolean';
}
