import { tmpdir } from 'node:os';
import {
  parseWorkerCommand,
  placeholderEnvironment,
  ProcessHost,
  processHostReaders,
  withFilesFrom,
  type RoleProgram,
} from '@drover/instance-provider';
import { workerArguments } from '@drover/runtime';
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
  const variables = definedOnly(environment);
  return {
    command: { executable, args: [...workerArguments(variables), ...args] },
    environment: placeholderEnvironment(variables, { executable, args }),
    directory: tmpdir(),
  };
}

function definedOnly(environment: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
  );
}
