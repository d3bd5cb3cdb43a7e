import { Settings } from './settings.js';

/** Splits text into words with the quoting rules of a shell. Expands nothing. Returns undefined if a quote is not closed. */
export function splitWords(text: string): string[] | undefined {
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
  if (quote !== undefined) return undefined;
  if (word !== undefined) words.push(word);
  return words;
}

/**
 * Returns the arguments that an app wants for the program of its workers: `languageWorkers__node__arguments`, as in the
 * official host, with the runtime of the app in place of `node`. They come before the worker's own file.
 */
export function workerArguments(environment: Readonly<Record<string, string>>): readonly string[] {
  const settings = new Settings(environment);
  const runtime = settings.get('FUNCTIONS_WORKER_RUNTIME')?.trim() || 'node';
  const text = settings.get(`languageWorkers__${runtime}__arguments`) ?? '';
  return splitWords(text) ?? text.split(/\s+/).filter(Boolean);
}

const debugFlag = /^--inspect(?:-brk|-wait)?(?:=|$)/;

/** Whether a debugger may halt a process with these arguments, so that its silence says nothing. */
export function isDebugged(args: readonly string[]): boolean {
  return args.some((arg) => debugFlag.test(arg));
}

/** Lets the debugger of a further process listen on any free port: Node.js ends if its debug port is taken. */
export function withFreeDebugPort<Command extends { readonly args: readonly string[] }>(command: Command): Command {
  return { ...command, args: command.args.map((arg) => (debugFlag.test(arg) ? '--inspect=0' : arg)) };
}
