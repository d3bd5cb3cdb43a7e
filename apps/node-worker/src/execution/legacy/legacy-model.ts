import { format } from 'node:util';
import type {
  CoreInvocationContext,
  CoreInvocationResponse,
  FunctionCallback,
  InvocationArguments,
  InvocationModel,
  LogLevelName,
  ProgrammingModel,
} from '../../loading/functions-core.js';
import { createLegacyArguments, type LegacyContext } from './legacy-context.js';
import { collectOutputs } from './legacy-outputs.js';

const learnMore = 'Learn more: https://go.microsoft.com/fwlink/?linkid=2097909';

/** The v3 programming model: folders with a function.json, and functions of `(context, ...inputs)`. */
export const legacyModel: ProgrammingModel = {
  name: '@azure/functions',
  version: '3.5.1',
  getInvocationModel: (context) => new LegacyInvocationModel(context),
};

/**
 * One invocation of a v3 function. It ends when the returned promise settles, or when the function calls `context.done`.
 * The first of the two counts; the second is an error of the app and is logged.
 */
class LegacyInvocationModel implements InvocationModel {
  readonly #core: CoreInvocationContext;
  readonly #done: Promise<unknown>;
  #settle: { resolve: (result: unknown) => void; reject: (error: unknown) => void } | undefined;
  #isDone = false;
  #returnsPromise = false;
  #context: LegacyContext | undefined;

  constructor(core: CoreInvocationContext) {
    this.#core = core;
    this.#done = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    // Without a handler its rejection would be unhandled when the promise of the function settles first.
    this.#done.catch(() => undefined);
  }

  async getArguments(): Promise<InvocationArguments> {
    const { context, inputs } = createLegacyArguments(this.#core, {
      log: (level, args) => this.#log(level, args),
      done: (error, result) => this.#onDone(error, result),
    });
    this.#context = context;
    return { context, inputs };
  }

  async invokeFunction(context: unknown, inputs: unknown[], callback: FunctionCallback): Promise<unknown> {
    try {
      const returned = callback(context, ...inputs);
      this.#returnsPromise = isThenable(returned);
      if (!this.#returnsPromise) return await this.#done;
      const finished = Promise.resolve(returned).then((result) => {
        this.#markDone();
        return result;
      });
      return await Promise.race([finished, this.#done]);
    } finally {
      this.#isDone = true;
    }
  }

  async getResponse(context: unknown, result: unknown): Promise<CoreInvocationResponse> {
    const { bindings, res } = context as LegacyContext; // what getArguments made
    return {
      invocationId: this.#core.invocationId,
      ...collectOutputs(this.#core.metadata.bindings, { result, bindings, res }),
    };
  }

  #onDone(error: unknown, result: unknown): void {
    this.#markDone();
    if (error === null || error === undefined) this.#settle?.resolve(result);
    else this.#settle?.reject(error);
  }

  #markDone(): void {
    const wasDone = this.#isDone;
    this.#isDone = true;
    if (!wasDone || (this.#returnsPromise && this.#context?.suppressAsyncDoneError === true)) return;
    const message = this.#returnsPromise
      ? `Error: Choose either to return a promise or call 'done'. Do not use both in your script. ${learnMore}`
      : "Error: 'done' has already been called. Please check your script for extraneous calls to 'done'.";
    this.#core.log('error', 'system', message);
  }

  #log(level: LogLevelName, args: unknown[]): void {
    const { state, metadata, invocationId } = this.#core;
    if (this.#isDone && state !== 'postInvocationHooks') {
      this.#core.log(
        'warning',
        'system',
        "Warning: Unexpected call to 'log' on the context object after function execution has completed. Please check for " +
          "asynchronous calls that are not awaited or calls to 'done' made before function execution completes. " +
          `Function name: ${metadata.name}. Invocation Id: ${invocationId}. ${learnMore}`,
      );
    }
    this.#core.log(level, 'user', format(...args));
  }
}

function isThenable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
