import { closeSync, readSync, writeSync } from 'node:fs';
import type { Serializer } from '../../types/messages.js';
import { descriptors } from '../launch/launch-parameters.js';
import { readClone } from '../wire/frame-codec.js';
import { FrameStream } from '../wire/frame-stream.js';
import { kind, type ToHost, type ToWorker } from '../../types/wire-message.js';
import type { TransportEvents, WorkerTransport } from './transport.js';

/** Opens the transport over the socket pair that this process inherited. */
export function processTransport(
  options: {
    readonly serializer: Serializer | undefined;
    readonly maxFrameBytes: number;
    readonly hasJournal: boolean;
  },
  events: TransportEvents,
): WorkerTransport {
  const entry = Buffer.alloc(4);
  let { hasJournal } = options;
  let ended = false;
  let hostGone = false;
  const closed = (): void => {
    if (ended) return;
    ended = true;
    hostGone = true;
    events.onClosed();
  };
  const { socket: wire, frames } = FrameStream.overDescriptor(descriptors.wire, {
    ...options,
    onMessage: (message) => events.onMessage(message as ToWorker),
    onMalformed: (error) => {
      process.stderr.write(`isolated-workers: ${error.message}\n`);
      process.exit(1);
    },
  });
  wire.on('error', closed);
  wire.on('close', closed);
  return {
    send: (message: ToHost) => frames.send(message),
    recordStart(id) {
      if (!hasJournal) return;
      entry.writeInt32LE(id | 0, 0);
      try {
        writeSync(descriptors.journal, entry, 0, 4, 0);
      } catch (error) {
        hasJournal = false;
        // Written before the request starts: the host must not take it for one that has not.
        frames.send([kind.journalLost, String((error as NodeJS.ErrnoException).code)]);
        frames.flush();
      }
    },
    get isFlushed() {
      return frames.isFlushed;
    },
    flush: () => frames.flush(),
    exit(code) {
      ended = true;
      if (hostGone) return endGroup(code);
      frames.flush();
      wire.end(() => process.exit(code));
    },
  };
}

/** Reads `workerData` that the host writes to a pipe, because it is too large for the environment. */
export function readWorkerData(length: number): unknown {
  const bytes = Buffer.allocUnsafeSlow(length);
  for (let at = 0, count = 0; at < length; at += count) {
    count = readSync(descriptors.workerData, bytes, at, length - at, null);
    if (count === 0) throw new Error('The host ended before it had sent workerData.');
  }
  closeSync(descriptors.workerData);
  return readClone(bytes);
}

/** Kills the process group: without a host, the worker has to end its child processes itself. */
function endGroup(code: number): void {
  try {
    process.kill(-process.pid, 'SIGKILL');
  } catch {
    process.exit(code); // it is not a group leader
  }
}
