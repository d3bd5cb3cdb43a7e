import { nodeWorkerFile } from '@drover/node-worker';
import type { Environment } from '@drover/service-kit';

/** Functions run on our own worker for Node.js unless somebody names another. */
export function withNodeWorker(environment: Environment): Environment {
  const command = `"${process.execPath}" "${nodeWorkerFile()}"`;
  return { ...environment, DROVER_WORKER_COMMAND: environment['DROVER_WORKER_COMMAND'] ?? command };
}
