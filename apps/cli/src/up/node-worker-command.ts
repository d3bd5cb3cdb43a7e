import { nodeWorkerFile } from '@drover/node-worker';
import type { Environment } from '@drover/service-kit';

/** Sets Drover's Node.js worker as the command of function workers, unless another is configured. */
export function withNodeWorker(environment: Environment): Environment {
  const command = `"${process.execPath}" "${nodeWorkerFile()}"`;
  return { ...environment, DROVER_WORKER_COMMAND: environment['DROVER_WORKER_COMMAND'] ?? command };
}
