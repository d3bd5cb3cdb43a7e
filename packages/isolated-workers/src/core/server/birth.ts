import { isMainThread, workerData } from 'node:worker_threads';
import { UnsupportedOptionError } from '../../types/errors.js';
import type { Serializer } from '../../types/serializer.js';
import { processVariable, threadDataKey } from '../launch/launch-parameters.js';
import type { PackedWorkerData } from '../launch/worker-data.js';
import type { TransportEvents, WorkerTransport } from './transport.js';

/** What the host told this worker when it made it. */
export interface Birth {
  readonly serializer: string | null;
  readonly workerData: unknown;
  /** The way back to the host. */
  readonly open: (serializer: Serializer | undefined, events: TransportEvents) => WorkerTransport;
}

/** Finds out what kind of worker this is, and loads only what that kind needs: every module makes the start longer. */
export async function readBirth(): Promise<Birth> {
  const thread = isMainThread
    ? undefined
    : ((workerData as Record<string, unknown> | null)?.[threadDataKey] as
        | (Birth & { readonly journal: SharedArrayBuffer })
        | undefined);
  if (thread) {
    const { threadTransport } = await import('./thread-transport.js');
    const { journal } = thread;
    return { ...thread, open: (serializer, events) => threadTransport({ serializer, journal }, events) };
  }
  const told = process.env[processVariable];
  if (told === undefined) {
    throw new UnsupportedOptionError(
      'startWorkerServer only works in a worker: name this script in createWorker instead of running it',
    );
  }
  delete process.env[processVariable]; // its own children are no workers of ours
  const facts = JSON.parse(told) as Birth & PackedWorkerData['told'] & { readonly maxFrameBytes: number };
  const { processTransport, readWorkerData } = await import('./process-transport.js');
  const { maxFrameBytes, workerDataBytes } = facts;
  const data = workerDataBytes === undefined ? facts.workerData : readWorkerData(workerDataBytes);
  return {
    ...facts,
    workerData: data,
    open: (serializer, events) => processTransport({ serializer, maxFrameBytes }, events),
  };
}
