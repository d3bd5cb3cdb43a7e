import type { LogCategoryName, LogLevelName } from '../loading/functions-core.js';
import type { LogStream, RpcLogs } from './rpc-logs.js';

/** Hosts attribute lines of stdout and stderr with this prefix to the worker, all others to the app. */
const prefix = 'LanguageWorkerConsoleLog';

/** Writes lines of the worker when there is no stream to send them on. */
export interface SystemConsole {
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** `write` receives whole lines for file descriptor 1 or 2. */
export function createSystemConsole(write: (descriptor: 1 | 2, text: string) => void): SystemConsole {
  const line = (message: string): string => `${message.replaceAll(/[\r\n]+/g, ' ')}\n`;
  return {
    info: (message) => write(1, `${prefix}${line(message)}`),
    warn: (message) => write(2, `${prefix}[warn] ${line(message)}`),
    error: (message) => write(2, `${prefix}[error] ${line(message)}`),
  };
}

/** Logs a line that belongs to no invocation: to the host while a stream is open, otherwise to the console. */
export type SystemLog = (level: LogLevelName, message: string, category?: LogCategoryName) => void;

export function createSystemLog(parts: {
  readonly logs: RpcLogs;
  readonly stream: () => LogStream | undefined;
  readonly console: SystemConsole;
}): SystemLog {
  return (level, message, category = 'system') => {
    const stream = parts.stream();
    if (stream && !stream.ended) parts.logs.write(stream, { level, category, message });
    else if (level === 'error' || level === 'critical') parts.console.error(message);
    else if (level === 'warning') parts.console.warn(message);
    else if (level === 'information') parts.console.info(message);
  };
}
