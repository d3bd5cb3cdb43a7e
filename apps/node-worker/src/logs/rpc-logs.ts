import { inspect } from 'node:util';
import { RpcLogCategory, RpcLogLevel, type EventStream, type RpcLogInit } from '@drover/function-rpc';
import type { LogCategoryName, LogLevelName } from '../loading/functions-core.js';
import { LogHookContext, type HookData, type HookScope } from '../loading/hook-contexts.js';
import type { HookCallback } from '../loading/hooks.js';
import { toRpcLogCategory, toRpcLogLevel } from './log-levels.js';

/** Above this many queued bytes log lines are dropped and counted: the host does not read. Responses are never dropped. */
const maxQueuedLogBytes = 32 * 1_024 * 1_024;

/** Longer messages are cut: hosts close the stream for messages above their limit. */
const maxLogMessageLength = 1_024 * 1_024;

/** The part of a stream that the log uses. */
export type LogStream = Pick<EventStream, 'send' | 'queuedBytes' | 'ended'>;

/** One log line. */
export interface RpcLogLine {
  readonly level: LogLevelName;
  readonly category: LogCategoryName;
  readonly message: string;
  readonly invocationId?: string;
  /** The category of the logger: `<function>.Invocation`. */
  readonly source?: string;
}

/** The part of the app that the log uses. */
export interface LogApp {
  readonly hooks: { readonly log: readonly HookCallback[] };
  readonly appHookData: HookData;
}

/** Sends log lines to the host. They arrive in order, and before a response that is sent after them on the same stream. */
export class RpcLogs {
  readonly #app: () => LogApp;
  #dropped = 0;

  constructor(app: () => LogApp) {
    this.#app = app;
  }

  /** Lines dropped since the last one that was sent. */
  get dropped(): number {
    return this.#dropped;
  }

  write(stream: LogStream, line: RpcLogLine, scope?: HookScope): void {
    const { hooks, appHookData } = this.#app();
    const { level, message } =
      hooks.log.length === 0 ? line : afterHooks(hooks.log, line, scope ?? outside(appHookData));
    this.#send(stream, {
      invocationId: line.invocationId,
      category: line.source,
      level: toRpcLogLevel(level),
      message: cut(message),
      logCategory: toRpcLogCategory(line.category),
    });
  }

  #send(stream: LogStream, log: RpcLogInit): void {
    if (stream.queuedBytes > maxQueuedLogBytes) {
      this.#dropped++;
      return;
    }
    if (this.#dropped > 0) {
      const message = `${this.#dropped} log lines were dropped: the host did not read them in time.`;
      this.#dropped = 0;
      stream.send({
        kind: 'rpcLog',
        value: { message, level: RpcLogLevel.Warning, logCategory: RpcLogCategory.System },
      });
    }
    stream.send({ kind: 'rpcLog', value: log });
  }
}

/** Runs log hooks, which may change lines of the app. The error of a hook is ignored: the line must not be lost. */
function afterHooks(
  hooks: readonly HookCallback[],
  line: RpcLogLine,
  scope: HookScope,
): { level: LogLevelName; message: string } {
  const context = new LogHookContext(scope, line);
  try {
    for (const hook of hooks) hook(context);
  } catch {
    return line;
  }
  // A hook in JavaScript may have set a value of any type.
  const message: unknown = context.message;
  if (line.category !== 'user') return line;
  return { level: context.level, message: typeof message === 'string' ? message : inspect(message) };
}

function outside(appHookData: HookData): HookScope {
  return { hookData: {}, appHookData, invocationContext: undefined };
}

function cut(message: string): string {
  if (message.length <= maxLogMessageLength) return message;
  return `${message.slice(0, maxLogMessageLength)}… (${message.length - maxLogMessageLength} more characters)`;
}
