import type { Serializer } from '../../types/messages.js';
import { PortQueue } from '../wire/port-queue.js';
import type { ToWorker } from '../../types/wire-message.js';
import type { TransportEvents, WorkerTransport } from './transport.js';

/** Opens the transport over the port of this thread. */
export function threadTransport(
  options: { readonly serializer: Serializer | undefined; readonly journal: SharedArrayBuffer },
  events: TransportEvents,
): WorkerTransport {
  const { parentPort: port } = process.getBuiltinModule('node:worker_threads');
  if (!port) throw new Error('This is not a worker thread.');
  const journal = new Int32Array(options.journal);
  const queue = new PortQueue(port, options.serializer);
  port.on('message', (batch: unknown) => queue.open<ToWorker>(batch, events.onMessage));
  port.on('close', events.onClosed);
  return {
    send: (message, transfer) => queue.send(message, transfer),
    recordStart: (id) => void Atomics.store(journal, 0, id | 0),
    isFlushed: false, // recording is cheap here, so every start is recorded
    flush: () => queue.flush(),
    exit(code) {
      queue.flush();
      port.close();
      process.exit(code);
    },
  };
}
