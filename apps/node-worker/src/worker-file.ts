import { fileURLToPath } from 'node:url';

/** The path of the bundled worker, to be started with `node`. `npm run build` creates it. */
export function nodeWorkerFile(): string {
  return fileURLToPath(new URL('./bundle/node-worker.js', import.meta.url));
}
