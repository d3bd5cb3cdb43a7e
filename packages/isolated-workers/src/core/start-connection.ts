import type { ConnectSpec, Connection, ConnectionEvents, Driver } from '../types/driver.js';
import { asError } from './wire/error-data.js';

/**
 * Starts a worker. A driver that throws, because the system has no descriptors, memory or processes left, yields a connection
 * without a worker whose end is reported like that of any other: the callers of `connect` have one way to learn of a failure.
 */
export function startConnection(driver: Driver, spec: ConnectSpec, events: ConnectionEvents): Connection {
  try {
    return driver.connect(spec, events);
  } catch (error) {
    return failedConnection(error, events);
  }
}

/** Returns a connection without a worker, whose end is reported in the next turn of the event loop. */
export function failedConnection(thrown: unknown, events: ConnectionEvents): Connection {
  const error = asError(thrown);
  const gone = new Promise<void>((resolve) => {
    setImmediate(() => {
      events.onShutdown({
        reason: { type: 'error', error },
        pid: undefined,
        exitCode: null,
        signal: null,
        stderr: '',
        outOfMemory: false,
        uptimeMs: 0,
      });
      resolve();
    });
  });
  return {
    pid: undefined,
    send: () => undefined,
    hadStarted: () => false,
    sample: () => Promise.resolve(undefined),
    end: () => gone,
    kill: () => undefined,
  };
}
