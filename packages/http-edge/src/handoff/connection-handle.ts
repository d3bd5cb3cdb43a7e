import { Socket } from 'node:net';

/**
 * The system's end of a connection. Node's cluster module passes the same objects between processes; they have no public type,
 * and this file is the only one that knows their methods.
 */
export interface ConnectionHandle {
  close(): void;
}

interface SystemHandle extends ConnectionHandle {
  reading: boolean;
  onread: () => void;
  readStop(): void;
}

export interface TakenHandle {
  readonly handle: ConnectionHandle;
  /** Received, and not read from the socket yet. */
  readonly unread: Buffer | null;
}

/**
 * Takes the handle out of a socket, which then closes while the connection stays open. Undefined if the connection cannot leave
 * now: an answer is not written yet, or its client has left.
 */
export function takeHandle(socket: Socket): TakenHandle | undefined {
  const owner = socket as unknown as { _handle: Partial<SystemHandle> | null }; // not in the public types
  const handle = owner._handle;
  if (!isSystemHandle(handle) || socket.destroyed || socket.readableEnded || socket.writableLength > 0)
    return undefined;
  handle.readStop();
  handle.reading = false;
  handle.onread = () => undefined;
  owner._handle = null;
  socket.removeAllListeners('data');
  const unread = socket.read() as Buffer | null; // it has no encoding
  socket.destroy();
  return { handle, unread };
}

/** Makes a socket of a handle. `received` is read before anything that arrives. */
export function openHandle(handle: ConnectionHandle, received: Buffer): Socket {
  const socket = new Socket({ handle, allowHalfOpen: true, readable: true, writable: true } as object); // `handle` is not in the public types
  if (received.length > 0) socket.unshift(received);
  return socket;
}

/** Whether a value that came with a message of another process is a connection. */
export function isConnectionHandle(value: unknown): value is ConnectionHandle {
  return isSystemHandle(value as Partial<SystemHandle> | null | undefined);
}

function isSystemHandle(handle: Partial<SystemHandle> | null | undefined): handle is SystemHandle {
  return typeof handle?.readStop === 'function' && typeof handle.close === 'function';
}
