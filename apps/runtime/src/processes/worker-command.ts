import { existsSync } from 'node:fs';
import path from 'node:path';

/** What a worker process is started with, beside what it is told about us. */
export interface WorkerCommand {
  readonly executable: string;
  readonly args: readonly string[];
}

/** Splits a command as a shell would, quotes and backslashes included; nothing in it is expanded. */
export function parseWorkerCommand(text: string): WorkerCommand {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (let index = 0; index < text.length; index += 1) {
    const char = text.charAt(index);
    if (char === '\\' && quote !== "'" && index + 1 < text.length) {
      index += 1;
      word = (word ?? '') + text.charAt(index);
    } else if (quote !== undefined) {
      if (char === quote) quote = undefined;
      else word = (word ?? '') + char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= '';
    } else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + char;
  }
  if (quote !== undefined) throw new Error(`the worker command has a ${quote} that is never closed: ${text}`);
  if (word !== undefined) words.push(word);
  const [executable, ...args] = words;
  if (executable === undefined)
    throw new Error('the worker command is empty; give a program, such as "node worker.js"');
  return { executable, args };
}

/** Files in a command are meant from where it was given, and a worker runs in the directory of its app. */
export function withFilesFrom(
  directory: string,
  { executable, args }: WorkerCommand,
  exists: (file: string) => boolean = existsSync,
): WorkerCommand {
  const whole = (word: string): string => {
    const file = path.resolve(directory, word);
    return word === '' || word.startsWith('-') || !exists(file) ? word : file;
  };
  // A name without a path is looked for by the system.
  return { executable: /[\\/]/.test(executable) ? whole(executable) : executable, args: args.map(whole) };
}

/** What every worker is told about us; old and new spellings, since workers of different ages read either. */
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
