import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { nodeWorkerFile } from '@drover/node-worker';

/** The worker that is measured: the bundle, or its parts where nobody has made one. */
export function workerFile(): string {
  const bundle = nodeWorkerFile();
  return existsSync(bundle) ? bundle : fileURLToPath(new URL('main.js', import.meta.resolve('@drover/node-worker')));
}

/** The app lies beside the sources: it is no part of what is compiled. */
export const appDirectory = fileURLToPath(new URL('../../function-rpc/app', import.meta.url));
