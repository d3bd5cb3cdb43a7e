import { readSync, writeSync } from 'node:fs';
import type { Serializer } from '../../types/messages.js';
import { descriptors, journalBytes } from '../launch/launch-parameters.js';
import { readClone } from '../wire/frame-codec.js';
import { FrameStream } from '../wire/frame-stream.js';
import type { ToHost, ToWorker } from '../../types/wire-message.js';
import { startGuard } from './guard.js';
import type { TransportEvents, WorkerTransport } from './transport.js';

/** Opens the transport over the socket pair that this process inherited. */
export function processTransport(
  options: { readonly serializer: Serializer | undefined; readonly maxFrameBytes: number },
  events: TransportEvents,
): WorkerTransport {
  const entry = Buffer.alloc(4);
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
  startGuard();
  return {
    send: (message: ToHost) => frames.send(message),
    recordStart(id) {
      entry.writeInt32LE(id | 0, 0);
      writeSync(descriptors.journal, entry, 0, 4, 0);
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

/** Reads `workerData` that the host stored after the journal, because it was too large for the environment. */
export function readWorkerData(length: number): unknown {
  const bytes = Buffer.allocUnsafeSlow(length);
  readSync(descriptors.journal, bytes, 0, length, journalBytes);
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
