import { UnknownMessageError } from '../types/errors.js';
import type { LiveWorker } from './live-worker.js';
import { sendError } from './send-error.js';
import { kind, type HostCallMessage } from '../types/wire-message.js';

/** Runs a host handler for `callHost` and sends its result, unless the worker died meanwhile. */
export async function answerHostCall(
  worker: LiveWorker,
  hostHandlers: unknown,
  [, id, type, payload]: HostCallMessage,
): Promise<void> {
  const handlers = (hostHandlers ?? {}) as Readonly<Record<string, (payload: unknown) => unknown>>;
  try {
    if (!Object.hasOwn(handlers, type))
      throw new UnknownMessageError(`The host has no handler '${type}'. Add it to hostHandlers.`);
    const result: unknown = await handlers[type]?.(payload);
    if (worker.isReady) worker.send(result === undefined ? [kind.hostResult, id] : [kind.hostResult, id, result]);
  } catch (error) {
    if (worker.isReady) sendError(error, (data) => worker.send([kind.hostError, id, data]));
  }
}
