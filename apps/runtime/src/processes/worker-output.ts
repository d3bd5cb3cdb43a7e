import type { WorkerLogLine } from '../invocations/worker-log.js';

/** What a worker's process printed. */
export interface PrintedLine {
  readonly level: WorkerLogLine['level'];
  readonly text: string;
  /** The worker itself said it, or the app did. */
  readonly isSystem: boolean;
}

const systemPrefix = 'LanguageWorkerConsoleLog';
const toolPrefix = 'azfuncjsonlog:';

/** Reads one line of a worker's output; what is meant for tools is not for us. */
export function readPrintedLine(line: string, stream: 'stdout' | 'stderr'): PrintedLine | undefined {
  if (line.startsWith(toolPrefix)) return undefined;
  if (line.startsWith(systemPrefix)) {
    const [, level = '', text = ''] = /^\s*(?:\[(warn|error)\] )?(.*)$/s.exec(line.slice(systemPrefix.length)) ?? [];
    return { level: level === 'warn' || level === 'error' ? level : 'info', text, isSystem: true };
  }
  return { level: stream === 'stderr' ? levelOf(line) : 'info', text: line, isSystem: false };
}

/** Standard error is used for anything; only what sounds like an error is one. */
function levelOf(line: string): WorkerLogLine['level'] {
  if (/warn/i.test(line)) return 'warn';
  return /error|fail|severe|unhandled exception/i.test(line) ? 'error' : 'info';
}

/** Longer lines are cut: a worker that never ends its line must not fill our memory. */
const maxLineLength = 64 * 1_024;

/** Cuts what comes from a pipe into lines. */
export class LineReader {
  readonly #onLine: (line: string) => void;
  #rest = '';

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  push(text: string): void {
    const parts = (this.#rest + text).split('\n');
    this.#rest = parts.pop() ?? '';
    for (const part of parts) this.#onLine(part.endsWith('\r') ? part.slice(0, -1) : part);
    if (this.#rest.length <= maxLineLength) return;
    this.#onLine(this.#rest);
    this.#rest = '';
  }

  /** What came after the last line's end. */
  end(): void {
    if (this.#rest !== '') this.#onLine(this.#rest);
    this.#rest = '';
  }
}
