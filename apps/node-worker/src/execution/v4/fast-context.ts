import { format } from 'node:util';
import type { InvocationRequest, RetryContext, RpcTraceContext } from '@drover/function-rpc';
import type { CoreBinding, LogLevelName } from '../../loading/functions-core.js';
import type { Invocation } from '../invocation.js';
import { toV4Value } from '../plain-text.js';
import type { FunctionPlan } from './function-plan.js';
import type { LibraryClass } from './library-classes.js';

/** The state of an invocation that its context shares. */
export interface FastState {
  readonly invocation: Invocation;
  readonly plan: FunctionPlan;
  isDone: boolean;
  /** Created on first use. */
  extraOutputs: NamedValues | undefined;
}

/** Inputs or outputs, by the name of their binding or the binding itself. */
class NamedValues {
  readonly #values = new Map<unknown, unknown>();

  get(binding: string | { readonly name: string }): unknown {
    return this.#values.get(typeof binding === 'string' ? binding : binding.name);
  }

  set(binding: string | { readonly name: string }, value: unknown): void {
    this.#values.set(typeof binding === 'string' ? binding : binding.name, value);
  }
}

interface Options {
  readonly trigger: unknown;
  readonly return: unknown;
  readonly extraInputs: readonly unknown[];
  readonly extraOutputs: readonly unknown[];
}

/** The part of a v4 context that the fast path uses. */
export interface FastContext {
  readonly extraInputs: NamedValues;
}

export type FastContextClass = new (state: FastState) => FastContext;

/**
 * Returns a class whose objects replace contexts of the library: `instanceof` and `constructor` are those of the library.
 * Rarely used members are created on first use. One long function, because the class refers to the class of the library.
 */
export function fastContextClass(library: LibraryClass): FastContextClass {
  class FastContext {
    invocationId: string;
    functionName: string;
    retryContext: object | undefined;
    traceContext: object | undefined;
    readonly #state: FastState;
    #triggerMetadata: { readonly value: object | undefined } | undefined;
    #extraInputs: NamedValues | undefined;
    #options: Options | undefined;

    constructor(state: FastState) {
      const { request, invocationId } = state.invocation;
      this.invocationId = invocationId;
      this.functionName = state.plan.functionName;
      this.retryContext = request.retryContext && retryContextOf(request.retryContext);
      this.traceContext = request.traceContext && traceContextOf(request.traceContext);
      this.#state = state;
    }

    /** The metadata of a batch has arrays with an entry for each message, which most handlers never read (`bench:triggers`). */
    get triggerMetadata(): object | undefined {
      const { plan, invocation } = this.#state;
      this.#triggerMetadata ??= {
        value: plan.trigger === 'other' ? triggerMetadataOf(invocation.request) : undefined,
      };
      return this.#triggerMetadata.value;
    }

    set triggerMetadata(value: object | undefined) {
      this.#triggerMetadata = { value };
    }

    get signal(): AbortSignal {
      return this.#state.invocation.signal;
    }

    get extraInputs(): NamedValues {
      this.#extraInputs ??= new NamedValues();
      return this.#extraInputs;
    }

    get extraOutputs(): NamedValues {
      this.#state.extraOutputs ??= new NamedValues();
      return this.#state.extraOutputs;
    }

    get options(): Options {
      this.#options ??= optionsOf(this.#state.plan);
      return this.#options;
    }

    log(...args: unknown[]): void {
      writeLog(this.#state, 'information', args);
    }

    trace(...args: unknown[]): void {
      writeLog(this.#state, 'trace', args);
    }

    debug(...args: unknown[]): void {
      writeLog(this.#state, 'debug', args);
    }

    info(...args: unknown[]): void {
      writeLog(this.#state, 'information', args);
    }

    warn(...args: unknown[]): void {
      writeLog(this.#state, 'warning', args);
    }

    error(...args: unknown[]): void {
      writeLog(this.#state, 'error', args);
    }
  }
  Object.setPrototypeOf(FastContext.prototype, library.prototype);
  Object.defineProperty(FastContext.prototype, 'constructor', { value: library, configurable: true, writable: true });
  return FastContext;
}

function retryContextOf({ retryCount, maxRetryCount, exception }: RetryContext): object {
  if (!exception) return { retryCount, maxRetryCount };
  const { message, source, stackTrace } = exception;
  return { retryCount, maxRetryCount, exception: { message, source, stackTrace } };
}

function traceContextOf({ traceParent, traceState, attributes }: RpcTraceContext): object {
  return { traceParent, traceState, attributes };
}

function triggerMetadataOf({ triggerMetadata }: InvocationRequest): object {
  const result: Record<string, unknown> = {};
  for (const name of Object.keys(triggerMetadata)) {
    result[camelCaseKey(name)] = camelCaseValue(toV4Value(triggerMetadata[name]));
  }
  return result;
}

function optionsOf({ bindings, triggerName }: FunctionPlan): Options {
  const named = (name: string, binding: CoreBinding): object => ({ ...binding, name });
  const others = Object.entries(bindings).filter(([name]) => name !== triggerName && name !== '$return');
  const inDirection = (wanted: string): object[] =>
    others.filter(([, { direction }]) => direction === wanted).map(([name, binding]) => named(name, binding));
  const returned = bindings['$return'];
  return {
    trigger: named(triggerName, bindings[triggerName] ?? {}),
    return: returned && named('$return', returned),
    extraInputs: inDirection('in'),
    extraOutputs: inDirection('out'),
  };
}

function writeLog({ invocation, plan, isDone }: FastState, level: LogLevelName, args: unknown[]): void {
  if (isDone && invocation.state !== 'postInvocationHooks') {
    invocation.log(
      'warning',
      'system',
      "Warning: Unexpected call to 'log' on the context object after function execution has completed. " +
        'Please check for asynchronous calls that are not awaited. ' +
        `Function name: ${plan.functionName}. Invocation Id: ${invocation.invocationId}.`,
    );
  }
  invocation.log(level, 'user', format(...args));
}

/** Changes the first letter to lower case. */
function camelCaseKey(key: string): string {
  return key.charAt(0).toLowerCase() + key.slice(1);
}

/** Applies `camelCaseKey` to all keys at every level. */
export function camelCaseValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(camelCaseValue);
  const result: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) result[camelCaseKey(key)] = camelCaseValue(inner);
  return result;
}
