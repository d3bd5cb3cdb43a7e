import { existsSync } from 'node:fs';
import path from 'node:path';

/** The program of a worker process and its own arguments. */
export interface WorkerCommand {
  readonly executable: string;
  readonly args: readonly string[];
}

/** Splits a command into words with the quoting rules of a shell. Expands nothing. Throws if a quote is not closed. */
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
  if (quote !== undefined) throw new Error(`The worker command has an unclosed ${quote}: ${text}. Close the quote.`);
  if (word !== undefined) words.push(word);
  const [executable, ...args] = words;
  if (executable === undefined)
    throw new Error('The worker command is empty. Give a program, such as "node worker.js".');
  return { executable, args };
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
