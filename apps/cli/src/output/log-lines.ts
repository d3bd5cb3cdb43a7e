export interface LogLine {
  readonly level: string;
  readonly process: string;
  readonly message: string;
}

/** Reads one line of a process's log; what is not ours (a crash of Node itself, say) stands as it is. */
export function parseLogLine(line: string, process: string): LogLine {
  try {
    const parsed: unknown = JSON.parse(line);
    if (typeof parsed === 'object' && parsed !== null && 'msg' in parsed && 'level' in parsed) {
      const own = 'process' in parsed ? String(parsed.process) : process;
      return { level: String(parsed.level), process: own, message: String(parsed.msg) };
    }
  } catch {
    // not JSON: shown as it is
  }
  return { level: 'error', process, message: line };
}

/** For people: warnings and errors say so, the rest speaks for itself. */
export function formatLogLine({ level, process, message }: LogLine): string {
  const mark = level === 'warn' ? 'warning: ' : level === 'error' ? 'error: ' : '';
  return `${process.padEnd(10)} ${mark}${message}`;
}
