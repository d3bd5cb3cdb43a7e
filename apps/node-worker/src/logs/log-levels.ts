import { RpcLogCategory, RpcLogLevel } from '@drover/function-rpc';
import type { LogCategoryName, LogLevelName } from '../loading/functions-core.js';

const levels: Readonly<Record<LogLevelName, number>> = {
  trace: RpcLogLevel.Trace,
  debug: RpcLogLevel.Debug,
  information: RpcLogLevel.Information,
  warning: RpcLogLevel.Warning,
  error: RpcLogLevel.Error,
  critical: RpcLogLevel.Critical,
  none: RpcLogLevel.None,
};

const categories: Readonly<Record<LogCategoryName, number>> = {
  user: RpcLogCategory.User,
  system: RpcLogCategory.System,
  customMetric: RpcLogCategory.CustomMetric,
};

/** Maps an unknown level to information. */
export function toRpcLogLevel(level: LogLevelName): number {
  return levels[level] ?? RpcLogLevel.Information;
}

export function toRpcLogCategory(category: LogCategoryName): number {
  return categories[category] ?? RpcLogCategory.User;
}
