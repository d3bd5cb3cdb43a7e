export interface ParsedLogLine {
  readonly level: string;
  readonly process: string;
  readonly message: string;
}

/** Parses one line of a child process; a line that is not a log record (a crash of Node.js itself) is shown unchanged. */
export function parseLogLine(line: string, process: string): ParsedLogLine {
  try {
    const parsed: unknown = JSON.parse(line);
    if (typeof parsed === 'object' && parsed !== null && 'msg' in parsed && 'level' in parsed) {
      const own = 'process' in parsed ? String(parsed.process) : process;
      return { level: String(parsed.level), process: own, message: String(parsed.msg) };
    }
  } catch {
    // not JSON: shown unchanged
  }
  return { level: 'error', process, message: line };
}

/** Formats a line for people; only warnings and errors show their level. */
export function formatLogLine({ level, process, message }: ParsedLogLine): string {
  const mark = level === 'warn' ? 'warning: ' : level === 'error' ? 'error: ' : '';
  return `${process.padEnd(10)} ${mark}${message}`;
}
