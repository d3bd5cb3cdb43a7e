/** A line on the standard output or standard error of a worker process. */
export interface PrintedLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly text: string;
  /** True if the line is from the worker itself, false if it is from the app. */
  readonly isSystem: boolean;
}

const systemPrefix = 'LanguageWorkerConsoleLog';
const toolPrefix = 'azfuncjsonlog:';

/** Parses one line. Returns undefined for lines that are addressed to development tools. */
export function readPrintedLine(line: string, stream: 'stdout' | 'stderr'): PrintedLine | undefined {
  if (line.startsWith(toolPrefix)) return undefined;
  if (line.startsWith(systemPrefix)) {
    const [, level = '', text = ''] = /^\s*(?:\[(warn|error)\] )?(.*)$/s.exec(line.slice(systemPrefix.length)) ?? [];
    return { level: level === 'warn' || level === 'error' ? level : 'debug', text, isSystem: true };
  }
  return { level: stream === 'stderr' ? levelOf(line) : 'info', text: line, isSystem: false };
}

/** Many programs use standard error for everything, so the level is guessed from the text. */
function levelOf(line: string): PrintedLine['level'] {
  if (/warn/i.test(line)) return 'warn';
  return /error|fail|severe|unhandled exception/i.test(line) ? 'error' : 'info';
}

/** Longer lines are split, so that output without line breaks does not fill memory. */
const maxLineLength = 64 * 1_024;

/** Splits the text of a pipe into lines. */
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

  /** Emits the text after the last line break. */
  end(): void {
    if (this.#rest !== '') this.#onLine(this.#rest);
    this.#rest = '';
  }
}
