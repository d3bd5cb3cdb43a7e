import { parentPort } from 'node:worker_threads';

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of Node, not a window
parentPort?.on('message', (message: unknown) => parentPort?.postMessage(message));
