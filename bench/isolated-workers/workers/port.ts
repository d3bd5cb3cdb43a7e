import { parentPort } from 'node:worker_threads';
import { exit } from './exits.js'; // a module more, as all other workers have

parentPort?.on('message', (message: unknown) => {
  if (message === 'exit') exit();
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of Node, not a window
  parentPort?.postMessage(message);
});
