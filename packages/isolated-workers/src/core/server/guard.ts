import { Worker } from 'node:worker_threads';
import { descriptors } from '../launch/launch-parameters.js';

/** How often the main loop shows that it turns. */
const beatMs = 100;

// Waits on the lifeline in a loop of its own, so it costs nothing while nothing happens and answers though the main loop is
// busy. The lifeline's end means that the host is gone: then the whole process group goes too, even when the main loop spins.
// A byte on it is a question: how much memory, and since when busy? A blocking read would be simpler, but `process.exit`
// waits for all threads, and cannot wake one from a system call.
const program = `
const { Socket } = require('node:net');
const { workerData: { beat, lifeline, pid } } = require('node:worker_threads');
const socket = new Socket({ fd: lifeline, readable: true, writable: true });
const end = () => {
  try { process.kill(-pid, 'SIGKILL'); } catch { process.kill(pid, 'SIGKILL'); }
};
socket.on('data', (questions) => {
  const busyMs = Math.max(0, Date.now() - Number(Atomics.load(beat, 0)));
  const answer = process.memoryUsage.rss() + ' ' + (busyMs < ${beatMs * 3} ? 0 : busyMs) + '\\n';
  socket.write(answer.repeat(questions.length));
});
socket.on('error', end);
socket.on('end', end);
`;

/** Starts the guard of a worker process once its first work is done with. */
export function startGuard(): void {
  const beat = new BigInt64Array(new SharedArrayBuffer(8));
  const show = (): void => void Atomics.store(beat, 0, BigInt(Date.now()));
  show();
  setInterval(show, beatMs).unref();
  setImmediate(() => {
    const guard = new Worker(program, {
      eval: true,
      workerData: { beat, lifeline: descriptors.lifeline, pid: process.pid },
      resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 2 },
      execArgv: [],
      env: {},
    });
    guard.unref();
    guard.on('error', () => undefined);
  });
}
