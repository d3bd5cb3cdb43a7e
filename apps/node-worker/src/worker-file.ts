import { fileURLToPath } from 'node:url';

/** The worker as one file, to be started with `node`; made by `npm run build`. */
export function nodeWorkerFile(): string {
  return fileURLToPath(new URL('./bundle/node-worker.js', import.meta.url));
}
