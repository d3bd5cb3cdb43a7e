import { workerDirectory, type WorkerCommand } from './worker-command.js';

type Variables = Readonly<Record<string, string | undefined>>;

/** Removes the variables of the platform itself, which may hold its secrets: function workers run code of customers. */
export function withoutPlatformVariables(environment: Variables): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !name.startsWith('DROVER_') && !name.startsWith('DATABASE_URL')),
  );
}

/**
 * Returns the environment of a function worker without an application: what the platform has, without its own variables, and the
 * directory of the worker, which the official host tells its workers. The application comes later, over FunctionRpc.
 */
export function placeholderEnvironment(environment: Variables, command: WorkerCommand): Variables {
  const directory = workerDirectory(command);
  return {
    ...(directory !== undefined && { FUNCTIONS_WORKER_DIRECTORY: directory }),
    ...withoutPlatformVariables(environment),
  };
}
