import { RpcLogCategory, RpcLogLevel, type RpcLog } from '@drover/function-rpc';

/** A log line of a worker. */
export interface WorkerLogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly category: string;
  readonly text: string;
  readonly invocationId: string | undefined;
  readonly isUser: boolean;
}

const levels: Readonly<Record<number, WorkerLogLine['level'] | undefined>> = {
  [RpcLogLevel.Trace]: 'debug',
  [RpcLogLevel.Debug]: 'debug',
  [RpcLogLevel.Information]: 'info',
  [RpcLogLevel.Warning]: 'warn',
  [RpcLogLevel.Error]: 'error',
  [RpcLogLevel.Critical]: 'error',
};

/** Converts a log message of a worker. Returns undefined for level `None`. */
export function toLogLine(log: RpcLog, functionName: string | undefined): WorkerLogLine | undefined {
  if (log.level === RpcLogLevel.None) return undefined;
  const isUser = log.logCategory === RpcLogCategory.User;
  const exception = log.exception ? `\n${log.exception.stackTrace || log.exception.message}` : '';
  return {
    level: levels[log.level] ?? 'info',
    category: isUser && functionName !== undefined ? `Function.${functionName}.User` : log.category || 'Worker',
    text: `${log.message}${exception}`,
    invocationId: log.invocationId || undefined,
    isUser,
  };
}
