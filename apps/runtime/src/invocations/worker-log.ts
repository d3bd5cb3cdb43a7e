import { RpcLogCategory, RpcLogLevel, type RpcException, type RpcLog } from '@drover/function-rpc';

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
  const exception = log.exception ? `\n${exceptionText(log.exception)}` : '';
  return {
    level: levels[log.level] ?? 'info',
    category: isUser && functionName !== undefined ? `Function.${functionName}.User` : log.category || 'Worker',
    text: `${log.message}${exception}`,
    invocationId: log.invocationId || undefined,
    isUser,
  };
}

/** What a worker says about itself while nothing runs is about the platform. */
export function levelOfLine({ level, isUser, invocationId }: WorkerLogLine): WorkerLogLine['level'] {
  return level === 'info' && !isUser && invocationId === undefined ? 'debug' : level;
}

/** A stack that is longer than this is cut. */
const longestText = 16_384;

/**
 * Describes an exception with its stack: type and message, then file and line of each call. Node.js workers send a stack that
 * begins with the message, the Python worker one that does not contain it.
 */
export function exceptionText({ type, message, stackTrace }: RpcException): string {
  const stack = stackTrace.trimEnd();
  const head = type === '' || message.startsWith(type) ? message : `${type}: ${message}`;
  const text = stack.includes(message) && stack !== '' ? stack : `${head}${stack === '' ? '' : `\n${stack}`}`;
  return text.length > longestText ? `${text.slice(0, longestText)} …` : text;
}
