import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { splitWords } from './split-words.js';

/** A program and its own arguments. */
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

/** Makes paths in a command absolute: they are relative to `directory`, but the worker runs in another one. */
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

/** What a function worker needs to find its runtime and to be admitted there. */
export interface WorkerEndpointFacts {
  readonly host: string;
  readonly port: number;
  readonly workerId: string;
  /** The one-time secret with which the worker proves that it is the expected one. */
  readonly requestId: string;
  readonly maxMessageBytes: number;
}

/** Returns the arguments that every function worker gets, in the old and the new spelling: workers read one or the other. */
export function hostArguments({ host, port, workerId, requestId, maxMessageBytes }: WorkerEndpointFacts): string[] {
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

/** Official workers keep worker.config.json in their directory, and their program a few folders below it. */
const configFile = 'worker.config.json';
const foldersUp = 4;

/** Returns the directory of a worker: the nearest one above its program with a worker.config.json, else that of its program. */
export function workerDirectory({ executable, args }: WorkerCommand): string | undefined {
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
