import { UnsupportedOptionError } from '../../types/errors.js';
import type { Serializer } from '../../types/messages.js';
import { processVariable, threadDataKey } from '../launch/launch-parameters.js';
import type { PackedWorkerData } from '../launch/worker-data.js';
import { processTransport, readWorkerData } from './process-transport.js';
import { threadTransport } from './thread-transport.js';
import type { TransportEvents, WorkerTransport } from './transport.js';

/** The launch parameters of this worker. */
export interface WorkerLaunch {
  readonly serializer: string | null;
  readonly workerData: unknown;
  /** Opens the transport to the host. */
  readonly open: (serializer: Serializer | undefined, events: TransportEvents) => WorkerTransport;
}

interface ProcessFacts {
  readonly maxFrameBytes: number;
  readonly hasJournal: boolean;
}

/** Reads the launch parameters. */
export function readWorkerLaunch(): WorkerLaunch {
  const text = process.env[processVariable];
  // Parts of Node are loaded on demand throughout: each that a worker or a host does not need adds to its start time.
  return text === undefined ? threadLaunch() : processLaunch(text);
}

function processLaunch(text: string): WorkerLaunch {
  delete process.env[processVariable]; // child processes of a worker must not inherit it
  const facts = JSON.parse(text) as WorkerLaunch & PackedWorkerData['parameters'] & ProcessFacts;
  const { maxFrameBytes, hasJournal, workerDataBytes } = facts;
  const data = workerDataBytes === undefined ? facts.workerData : readWorkerData(workerDataBytes);
  return {
    ...facts,
    workerData: data,
    open: (serializer, events) => processTransport({ serializer, maxFrameBytes, hasJournal }, events),
  };
}

function threadLaunch(): WorkerLaunch {
  const { isMainThread, workerData } = process.getBuiltinModule('node:worker_threads');
  const thread = isMainThread
    ? undefined
    : ((workerData as Record<string, unknown> | null)?.[threadDataKey] as
        | (WorkerLaunch & { readonly journal: SharedArrayBuffer })
        | undefined);
  if (!thread) {
    throw new UnsupportedOptionError(
      'startWorkerServer was called outside a worker. Pass this script to createWorker instead of running it.',
    );
  }
  const { journal } = thread;
  return { ...thread, open: (serializer, events) => threadTransport({ serializer, journal }, events) };
}
