import { randomUUID } from 'node:crypto';
import type { RetryContext } from '@drover/function-rpc';
import type { CoreInvocationContext, LogLevelName } from '../../loading/functions-core.js';
import { bindingDataOf, camelCaseKeys, toLegacyValue } from './legacy-values.js';
import { LegacyRequest } from './legacy-request.js';
import { LegacyResponse } from './legacy-response.js';

type Log = (level: LogLevelName, args: unknown[]) => void;

export type Done = (error?: unknown, result?: unknown) => void;

/** `context.log`: a function with one method per level. */
export interface LegacyLogger {
  (...args: unknown[]): void;
  error(...args: unknown[]): void;
  warn(...args: unknown[]): void;
  info(...args: unknown[]): void;
  verbose(...args: unknown[]): void;
}

/** The first argument of a v3 function. */
export class LegacyContext {
  readonly invocationId: string;
  readonly executionContext: {
    readonly invocationId: string;
    readonly functionName: string;
    readonly functionDirectory: string;
    readonly retryContext: RetryContext | null;
  };
  readonly traceContext: {
    readonly traceparent?: string;
    readonly tracestate?: string;
    readonly attributes?: Readonly<Record<string, string>>;
  };
  readonly bindingDefinitions: readonly { readonly name: string; readonly type: string; readonly direction: unknown }[];
  bindings: Record<string, unknown> = {};
  bindingData: Record<string, unknown>;
  log: LegacyLogger;
  done: Done;
  req: LegacyRequest | undefined;
  res: unknown;
  suppressAsyncDoneError?: boolean;

  constructor({ invocationId, request, metadata }: CoreInvocationContext, parts: { log: Log; done: Done }) {
    const { traceContext, retryContext } = request;
    this.invocationId = invocationId;
    this.executionContext = {
      invocationId,
      functionName: metadata.name,
      functionDirectory: metadata.directory ?? '',
      retryContext: retryContext ?? null,
    };
    this.traceContext = traceContext
      ? {
          traceparent: traceContext.traceParent,
          tracestate: traceContext.traceState,
          attributes: traceContext.attributes,
        }
      : {};
    this.bindingDefinitions = Object.entries(metadata.bindings).map(([name, { type, direction }]) => ({
      name,
      type: type ?? '',
      direction: direction ?? undefined,
    }));
    this.bindingData = { invocationId, ...bindingDataOf(request.triggerMetadata) };
    this.log = createLogger(parts.log);
    this.done = parts.done;
  }
}

function createLogger(log: Log): LegacyLogger {
  return Object.assign((...args: unknown[]) => log('information', args), {
    error: (...args: unknown[]) => log('error', args),
    warn: (...args: unknown[]) => log('warning', args),
    info: (...args: unknown[]) => log('information', args),
    verbose: (...args: unknown[]) => log('trace', args),
  });
}

/** Returns the context of one invocation and its inputs: trigger and input bindings in their order. */
export function createLegacyArguments(
  core: CoreInvocationContext,
  parts: { log: Log; done: Done },
): { context: LegacyContext; inputs: unknown[] } {
  const context = new LegacyContext(core, parts);
  const inputs: unknown[] = [];
  for (const { name, data } of core.request.inputData) {
    if (!data || name === '') continue;
    let input: unknown;
    if (data.http) {
      context.req = new LegacyRequest(data.http);
      input = context.req;
    } else {
      const isTimer = /^timertrigger$/i.test(core.metadata.bindings[name]?.type ?? '');
      input = isTimer ? camelCaseKeys(toLegacyValue(data)) : toLegacyValue(data);
    }
    context.bindings[name] = input;
    inputs.push(input);
  }
  if (context.req) addHttp(context, context.req, core.metadata.name);
  return { context, inputs };
}

function addHttp(context: LegacyContext, { query, headers }: LegacyRequest, methodName: string): void {
  context.res = new LegacyResponse(context.done);
  const { bindingData } = context;
  bindingData['sys'] = { methodName, utcNow: new Date().toISOString(), randGuid: randomUUID() };
  bindingData['query'] ??= { ...query };
  bindingData['headers'] ??= { ...headers };
}
