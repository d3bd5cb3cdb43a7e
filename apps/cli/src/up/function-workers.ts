import { tmpdir } from 'node:os';
import {
  parseWorkerCommand,
  placeholderEnvironment,
  ProcessHost,
  processHostReaders,
  programOptionsOf,
  withFilesFrom,
  type RoleProgram,
} from '@drover/instance-provider';
import { createLog, createObserve, type Clock, type Environment, type Leash, type Sinks } from '@drover/service-kit';
import { withNodeWorker } from './node-worker-command.js';

/**
 * Hosts the function workers of the platform. They belong to `drover up`, not to the platform process that asks for them: they
 * outlive it. `print` gets what they print, as lines of JSON.
 */
export function functionWorkers(
  environment: Environment,
  print: (line: string) => void,
  { leash, clock, sinks }: { readonly leash: Leash; readonly clock: Clock; readonly sinks: Sinks },
): ProcessHost {
  const log = createLog('function-workers', sinks.log.level, { write: (line) => print(line.trimEnd()) });
  return new ProcessHost({
    programs: { 'function-worker': functionWorkerProgram(environment, process.cwd()) },
    leash,
    clock,
    observe: createObserve(processHostReaders, { ...sinks, log }),
  });
}

/**
 * What `drover up` runs as a function worker: the command that is configured, or Drover's Node.js worker, with the options for its
 * program that the environment has for all applications (`--inspect`). A worker gets its directory with its application.
 */
export function functionWorkerProgram(environment: Environment, directory: string): RoleProgram {
  const { DROVER_WORKER_COMMAND: text = '' } = withNodeWorker(environment);
  const { executable, args } = withFilesFrom(directory, parseWorkerCommand(text));
  return {
    command: { executable, args: [...programOptionsOf(environment), ...args] },
    environment: placeholderEnvironment(environment, { executable, args }),
    directory: tmpdir(),
  };
}
