import type { LogCategoryName, LogLevelName } from '../loading/functions-core.js';
import type { LogStream, RpcLogs } from './rpc-logs.js';
import type { SystemConsole } from './system-console.js';

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
