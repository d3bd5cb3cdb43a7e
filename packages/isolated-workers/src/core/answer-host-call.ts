import { UnknownMessageError } from '../types/errors.js';
import type { LiveWorker } from './live-worker.js';
import { sendError } from './send-error.js';
import { kind, type HostCallMessage } from '../types/wire-message.js';

/** Answers what a worker asked its host; a worker that died meanwhile needs no answer. */
export async function answerHostCall(
  asked: LiveWorker,
  hostHandlers: unknown,
  [, id, type, payload]: HostCallMessage,
): Promise<void> {
  const handlers = (hostHandlers ?? {}) as Readonly<Record<string, (payload: unknown) => unknown>>;
  try {
    if (!Object.hasOwn(handlers, type)) throw new UnknownMessageError(`the host has no handler '${type}'`);
    const result: unknown = await handlers[type]?.(payload);
    if (asked.isReady) asked.send(result === undefined ? [kind.hostResult, id] : [kind.hostResult, id, result]);
  } catch (error) {
    if (asked.isReady) sendError(error, (data) => asked.send([kind.hostError, id, data]));
  }
}
