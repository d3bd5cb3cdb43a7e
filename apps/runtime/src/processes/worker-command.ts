import { existsSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { splitWords } from '../applications/worker-arguments.js';
import type { ApplicationVersion } from '../deployments/application-version.js';

/** The program of a worker process and its own arguments. */
export interface WorkerCommand {
  readonly executable: string;
  readonly args: readonly string[];
}

/** Parses a command with the quoting rules of a shell. Expands nothing. Throws if it is empty or a quote is not closed. */
export function parseWorkerCommand(text: string): WorkerCommand {
  const words = splitWords(text);
  if (!words) throw new Error(`The worker command has an unclosed quote: ${text}. Close the quote.`);
  const [executable, ...args] = words;
  if (executable === undefined)
    throw new Error('The worker command is empty. Give a program, such as "node worker.js".');
  return { executable, args };
}

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

/** Makes paths in a command absolute: they are relative to `directory`, but the worker runs in the directory of its app. */
export function withFilesFrom(
  directory: string,
  { executable, args }: WorkerCommand,
  exists: (file: string) => boolean = existsSync,
): WorkerCommand {
  const whole = (word: string): string => {
    const file = path.resolve(directory, word);
    return word === '' || word.startsWith('-') || !exists(file) ? word : file;
  };
  // A name without a path is looked up in PATH.
  return { executable: /[\\/]/.test(executable) ? whole(executable) : executable, args: args.map(whole) };
}

/** The arguments that every worker gets, in the old and the new spelling: workers read one or the other. */
export function hostArguments(facts: {
  readonly host: string;
  readonly port: number;
  readonly workerId: string;
  readonly requestId: string;
  readonly maxMessageBytes: number;
}): string[] {
  const { host, port, workerId, requestId, maxMessageBytes } = facts;
  return Object.entries({
    host,
    port,
    workerId,
    requestId,
    grpcMaxMessageLength: maxMessageBytes,
    'functions-uri': `http://${host}:${port}/`,
    'functions-worker-id': workerId,
    'functions-request-id': requestId,
    'functions-grpc-max-message-length': maxMessageBytes,
  }).flatMap(([name, value]) => [`--${name}`, String(value)]);
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

/** Official workers keep worker.config.json in their directory, and their program a few folders below it. */
const configFile = 'worker.config.json';
const foldersUp = 4;

/** Returns the directory of a worker: the nearest one above its program with a worker.config.json, else that of its program. */
function workerDirectory({ executable, args }: WorkerCommand): string | undefined {
  const program = [...args, executable].find((word) => path.isAbsolute(word) && isFile(word));
  if (program === undefined) return undefined;
  let directory = path.dirname(program);
  for (let up = 0; up < foldersUp; up += 1) {
    if (existsSync(path.join(directory, configFile))) return directory;
    directory = path.dirname(directory);
  }
  return path.dirname(program);
}

function isFile(word: string): boolean {
  return statSync(word, { throwIfNoEntry: false })?.isFile() === true;
}
