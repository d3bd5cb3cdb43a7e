import { isConnectionHandle, type ConnectionHandle } from './connection-handle.js';

/** One end of an IPC channel of Node.js: `process` in a child, a `ChildProcess` in its parent. */
export interface IpcEnd {
  send?(message: unknown, handle: never, options: undefined, callback: (error: Error | null) => void): boolean;
  on(event: 'message', listener: (message: unknown, handle: unknown) => void): unknown;
}

/** A connection as a message; the handle travels beside it. */
export interface ConnectionMessage {
  readonly type: 'connection';
  /** Unique among the connections of all processes. */
  readonly id: string;
  /** The incarnation of the process that it is for. */
  readonly to: number;
  /** In base64. */
  readonly received: string;
}

/** Tells the sender that the other process has the connection, and will read it. */
export interface TakenMessage {
  readonly type: 'connection-taken';
  readonly id: string;
}

/** Tells a process whether the process at the other end of its relay takes connections. */
export interface PeerMessage {
  readonly type: 'connection-peer';
  /** A number that no earlier process of that side had; undefined if none is ready. */
  readonly incarnation?: number | undefined;
}

/** Tells the process at the other end which names below `/api/` are not its own. */
export interface ReservedMessage {
  readonly type: 'connection-reserved';
  readonly names: readonly string[];
}

/** Sends a connection. `sent` is called once the system has it; not at all if the other process ends before. */
export function sendConnection(
  end: IpcEnd,
  message: ConnectionMessage,
  handle: ConnectionHandle,
  sent: () => void,
): void {
  if (end.send)
    end.send(message, handle as never, undefined, sent); // the public types do not list bare handles
  else sent();
}

/** Sends a message without a connection. `sent` is called once the system has it, or with the error if the channel is closed. */
export function tell(
  end: IpcEnd,
  message: TakenMessage | PeerMessage | ReservedMessage,
  sent: (error: Error | null) => void = () => undefined,
): void {
  if (end.send) end.send(message, undefined as never, undefined, sent);
  else sent(new Error('There is no channel to another process.'));
}

type HandoffMessage =
  | { readonly message: ConnectionMessage; readonly handle: ConnectionHandle }
  | { readonly message: TakenMessage | PeerMessage | ReservedMessage };

/** Reads what another process sent. Returns undefined for messages that are not about connections. */
export function readHandoffMessage(received: unknown, handle: unknown): HandoffMessage | undefined {
  const message = (received ?? {}) as Record<string, unknown>; // checked here
  const { type, id } = message;
  if (type === 'connection' && typeof id === 'string' && isConnectionHandle(handle))
    return { message: message as unknown as ConnectionMessage, handle };
  const isKnown = type === 'connection-taken' || type === 'connection-peer' || type === 'connection-reserved';
  return isKnown ? { message: message as unknown as TakenMessage | PeerMessage | ReservedMessage } : undefined;
}
