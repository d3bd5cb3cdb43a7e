import { inspect } from 'node:util';
import { RpcLogCategory, RpcLogLevel, type RpcLogInit } from '@drover/function-rpc';
import type { LogCategoryName, LogLevelName } from '../loading/functions-core.js';
import { LogHookContext, type HookData, type HookScope } from '../loading/hook-contexts.js';
import type { HookCallback } from '../loading/hooks.js';
import type { HostStream } from '../stream/host-stream.js';
import { toRpcLogCategory, toRpcLogLevel } from './log-words.js';

/** With this much on its way to a host that does not read, log lines are dropped and counted. Responses never are. */
export const mostQueuedBytes = 32 * 1_024 * 1_024;

/** A longer message is cut: nobody reads more of a line, and hosts close the stream for messages that are too long. */
export const longestMessage = 1_024 * 1_024;

/** One line, and whose it is. */
export interface LogLine {
  readonly level: LogLevelName;
  readonly category: LogCategoryName;
  readonly message: string;
  readonly invocationId?: string;
  /** The category of the logger: `<function>.Invocation`. */
  readonly source?: string;
}

/** What the log needs to know of the app. */
export interface LogApp {
  readonly hooks: { readonly log: readonly HookCallback[] };
  readonly appHookData: HookData;
}

/** Sends log lines to the host. On one stream they arrive in order, and before any response that is sent after them. */
export class RpcLogs {
  readonly #app: () => LogApp;
  #dropped = 0;

  constructor(app: () => LogApp) {
    this.#app = app;
  }

  /** Lines that were dropped since the last one that was not. */
  get dropped(): number {
    return this.#dropped;
  }

  write(stream: HostStream, line: LogLine, scope?: HookScope): void {
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

  #send(stream: HostStream, log: RpcLogInit): void {
    if (stream.queuedBytes > mostQueuedBytes) {
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

/** Hooks see every line and may change those of the app. One that throws is ignored: it must not cost the line. */
function afterHooks(
  hooks: readonly HookCallback[],
  line: LogLine,
  scope: HookScope,
): { level: LogLevelName; message: string } {
  const context = new LogHookContext(scope, line);
  try {
    for (const hook of hooks) hook(context);
  } catch {
    return line;
  }
  // A hook of plain JavaScript may have set anything.
  const message: unknown = context.message;
  if (line.category !== 'user') return line;
  return { level: context.level, message: typeof message === 'string' ? message : inspect(message) };
}

function outside(appHookData: HookData): HookScope {
  return { hookData: {}, appHookData, invocationContext: undefined };
}

function cut(message: string): string {
  if (message.length <= longestMessage) return message;
  return `${message.slice(0, longestMessage)}… (${message.length - longestMessage} more characters)`;
}
