import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
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
import { collectionWorkerEnvironment } from './child-environment.js';
import type { DataDirectory } from './data-directory.js';
import { withNodeWorker } from './node-worker-command.js';

interface HostedWorkersIo {
  readonly leash: Leash;
  readonly clock: Clock;
  readonly sinks: Sinks;
}

/**
 * Hosts the function workers of the platform, and collection workers beyond those that `drover up` always runs. They belong to
 * `drover up`, not to the platform process that asks for them: they outlive it. `print` gets what function workers print, as lines of
 * JSON.
 */
export function hostedWorkers(
  environment: Environment,
  print: (line: string) => void,
  collectionWorker: RoleProgram,
  { leash, clock, sinks }: HostedWorkersIo,
): ProcessHost {
  const log = createLog('function-workers', sinks.log.level, { write: (line) => print(line.trimEnd()) });
  return new ProcessHost({
    programs: {
      'function-worker': functionWorkerProgram(environment, process.cwd()),
      'collection-worker': collectionWorker,
    },
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

/**
 * What `drover up` runs as a collection worker that the scale controller asks for: the same as its own ones. The scale controller
 * gives it a name.
 */
export function collectionWorkerProgram(
  environment: Environment,
  directory: DataDirectory,
  print: (line: string) => void,
): RoleProgram {
  const module = fileURLToPath(new URL('collection-worker-main.js', import.meta.url));
  return {
    command: { executable: process.execPath, args: ['--enable-source-maps', module] },
    environment: { ...collectionWorkerEnvironment(environment, directory, 0, undefined), DROVER_LOG_FORMAT: 'json' },
    directory: process.cwd(),
    print,
  };
}
