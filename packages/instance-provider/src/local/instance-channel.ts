/** Carries messages between the host of instances and a client of it, in order. */
export interface InstanceChannel {
  /** Throws if the other end is known to be gone. */
  send(message: unknown): void;
  onMessage(listener: (message: unknown) => void): () => void;
  /** Calls `listener` once when the other end is gone. */
  onClose(listener: () => void): () => void;
}

/** One end of an IPC channel of Node.js: `process` in a child, a `ChildProcess` in its parent. */
export interface IpcProcess {
  send?(message: unknown, handle: undefined, options: undefined, callback: (error: Error | null) => void): boolean;
  readonly connected: boolean;
  on(event: 'message', listener: (message: unknown) => void): unknown;
  off(event: 'message', listener: (message: unknown) => void): unknown;
  once(event: 'disconnect', listener: () => void): unknown;
  off(event: 'disconnect', listener: () => void): unknown;
}

export function ipcInstanceChannel(end: IpcProcess): InstanceChannel {
  return {
    send(message) {
      if (!end.send || !end.connected) throw new Error('the IPC channel is closed');
      // A message that is lost with the other process: `onClose` handles that.
      end.send(message, undefined, undefined, () => undefined);
    },
    onMessage(listener) {
      const heard = (message: unknown): void => listener(message);
      end.on('message', heard);
      return () => void end.off('message', heard);
    },
    onClose(listener) {
      const closed = (): void => listener();
      end.once('disconnect', closed);
      return () => void end.off('disconnect', closed);
    },
  };
}
