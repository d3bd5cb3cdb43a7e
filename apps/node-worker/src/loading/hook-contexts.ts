import type { LogCategoryName, LogLevelName, FunctionCallback } from './functions-core.js';
import { ReadOnlyError } from './system-errors.js';

export type HookData = Record<string, unknown>;

/** What every hook gets: a place for data of its scope, and one for data of the whole app. */
class HookContext {
  readonly #hookData: HookData;
  readonly #appHookData: HookData;

  constructor(hookData: HookData, appHookData: HookData) {
    this.#hookData = hookData;
    this.#appHookData = appHookData;
  }

  get hookData(): HookData {
    return this.#hookData;
  }

  set hookData(_: HookData) {
    throw new ReadOnlyError('hookData');
  }

  get appHookData(): HookData {
    return this.#appHookData;
  }

  set appHookData(_: HookData) {
    throw new ReadOnlyError('appHookData');
  }
}

export class AppStartContext extends HookContext {
  functionAppDirectory: string;

  constructor(hookData: HookData, appHookData: HookData, functionAppDirectory: string) {
    super(hookData, appHookData);
    this.functionAppDirectory = functionAppDirectory;
  }
}

export class AppTerminateContext extends HookContext {}

class InvocationHookContext extends HookContext {
  inputs: unknown[];
  readonly #invocationContext: unknown;

  constructor(scope: HookScope, inputs: unknown[]) {
    super(scope.hookData, scope.appHookData);
    this.#invocationContext = scope.invocationContext;
    this.inputs = inputs;
  }

  get invocationContext(): unknown {
    return this.#invocationContext;
  }

  set invocationContext(_: unknown) {
    throw new ReadOnlyError('invocationContext');
  }
}

/** What hooks of one invocation share. */
export interface HookScope {
  readonly hookData: HookData;
  readonly appHookData: HookData;
  readonly invocationContext: unknown;
}

/** Inputs and callback may be replaced by hooks. */
export class PreInvocationContext extends InvocationHookContext {
  functionCallback: FunctionCallback;

  constructor(scope: HookScope, inputs: unknown[], functionCallback: FunctionCallback) {
    super(scope, inputs);
    this.functionCallback = functionCallback;
  }
}

/** Result and error may be replaced by hooks; null is none. */
export class PostInvocationContext extends InvocationHookContext {
  result: unknown = null;
  error: unknown = null;
}

/** Level and message may be changed by hooks, for lines of the app. */
export class LogHookContext extends HookContext {
  level: LogLevelName;
  message: string;
  readonly #category: LogCategoryName;
  readonly #invocationContext: unknown;

  constructor(scope: HookScope, line: { level: LogLevelName; category: LogCategoryName; message: string }) {
    super(scope.hookData, scope.appHookData);
    this.level = line.level;
    this.message = line.message;
    this.#category = line.category;
    this.#invocationContext = scope.invocationContext;
  }

  get category(): LogCategoryName {
    return this.#category;
  }

  set category(_: LogCategoryName) {
    throw new ReadOnlyError('category');
  }

  get invocationContext(): unknown {
    return this.#invocationContext;
  }

  set invocationContext(_: unknown) {
    throw new ReadOnlyError('invocationContext');
  }
}
