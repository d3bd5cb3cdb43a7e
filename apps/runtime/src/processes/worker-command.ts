import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { workerDirectory, type WorkerCommand } from '@drover/instance-provider';
import type { ApplicationVersion } from '../deployments/application-version.js';

/**
 * Returns the command of Drover's Node.js worker; undefined if that package is not installed next to this one. It is looked up,
 * not imported: a runtime runs workers of any language.
 */
export function installedNodeWorker(): WorkerCommand | undefined {
  try {
    const index = createRequire(import.meta.url).resolve('@drover/node-worker');
    const file = path.join(path.dirname(index), 'bundle', 'node-worker.js');
    return existsSync(file) ? { executable: process.execPath, args: [file] } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The environment of a worker process: the settings of the app, and the two directories that the official host tells its
 * workers. The Python worker finds the packages of the app and its own with them.
 */
export function functionWorkerEnvironment(
  { directory, environment }: ApplicationVersion,
  command: WorkerCommand,
): Readonly<Record<string, string>> {
  const own = workerDirectory(command);
  return {
    ...(own !== undefined && { FUNCTIONS_WORKER_DIRECTORY: own }),
    ...environment,
    FUNCTIONS_APPLICATION_DIRECTORY: directory,
    AzureWebJobsScriptRoot: directory,
  };
}
