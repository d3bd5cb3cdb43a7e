import { Worker } from 'node:worker_threads';
import { descriptors } from '../launch/launch-parameters.js';

/** How often the event loop updates its heartbeat. */
const beatMs = 100;

// Waits on the lifeline in a thread of its own, so it is idle most of the time and answers while the main loop is blocked.
// The end of the lifeline means that the host has died: the guard then kills the process group, even if the main loop spins.
// A byte on the lifeline asks for memory and event loop delay. A blocking read would be simpler, but `process.exit` waits for
// all threads and cannot interrupt one in a system call.
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

/** Starts the guard of a worker process after the current turn of the event loop. */
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
