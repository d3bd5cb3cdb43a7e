import { parentPort } from 'node:worker_threads';

parentPort?.on('message', (message: unknown) => {
  if (message === 'exit') process.exit(1);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of Node, not a window
  parentPort?.postMessage(message);
});
