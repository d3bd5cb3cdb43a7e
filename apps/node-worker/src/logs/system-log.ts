import type { LogCategoryName, LogLevelName } from '../loading/functions-core.js';
import type { HostStream } from '../stream/host-stream.js';
import type { RpcLogs } from './rpc-logs.js';
import type { SystemConsole } from './system-console.js';

/** Lines that belong to no invocation: to the host while there is a stream, else to the console. */
export type SystemLog = (level: LogLevelName, message: string, category?: LogCategoryName) => void;

export function createSystemLog(parts: {
  readonly logs: RpcLogs;
  readonly stream: () => HostStream | undefined;
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
