import { readSync, writeSync } from 'node:fs';
import type { Serializer } from '../../types/serializer.js';
import { journalBytes } from '../launch/start-journal.js';
import { descriptors } from '../launch/launch-parameters.js';
import { readClone } from '../wire/frame-codec.js';
import { FrameStream } from '../wire/frame-stream.js';
import type { ToHost, ToWorker } from '../../types/wire-message.js';
import { startGuard } from './guard.js';
import type { TransportEvents, WorkerTransport } from './transport.js';

/** Over the socket pair that this process was born with. */
export function processTransport(
  options: { readonly serializer: Serializer | undefined; readonly maxFrameBytes: number },
  events: TransportEvents,
): WorkerTransport {
  const note = Buffer.alloc(4);
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
    onGarbage: (error) => {
      process.stderr.write(`isolated-workers: ${error.message}\n`);
      process.exit(1);
    },
  });
  wire.on('error', closed);
  wire.on('close', closed);
  startGuard();
  return {
    send: (message: ToHost) => frames.send(message),
    noteStart(id) {
      note.writeInt32LE(id | 0, 0);
      writeSync(descriptors.journal, note, 0, 4, 0);
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

/** What the host stored behind the journal, since it had no room in the environment. */
export function readWorkerData(length: number): unknown {
  const bytes = Buffer.allocUnsafeSlow(length);
  readSync(descriptors.journal, bytes, 0, length, journalBytes);
  return readClone(bytes);
}

/** A host that lives ends what a worker leaves behind; without one, the worker takes its children along itself. */
function endGroup(code: number): void {
  try {
    process.kill(-process.pid, 'SIGKILL');
  } catch {
    process.exit(code); // it leads no group
  }
}
