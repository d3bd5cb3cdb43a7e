import type { LogCategoryName, LogLevelName, FunctionCallback } from './functions-core.js';
import { ReadOnlyError } from './system-errors.js';

export type HookData = Record<string, unknown>;

/** Passed to every hook: data of its scope, and data of the whole app. */
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

/** Shared by the hooks of one invocation. */
export interface HookScope {
  readonly hookData: HookData;
  readonly appHookData: HookData;
  readonly invocationContext: unknown;
}

/** Hooks may replace inputs and callback. */
export class PreInvocationContext extends InvocationHookContext {
  functionCallback: FunctionCallback;

  constructor(scope: HookScope, inputs: unknown[], functionCallback: FunctionCallback) {
    super(scope, inputs);
    this.functionCallback = functionCallback;
  }
}

/** Hooks may replace result and error; null means none. */
export class PostInvocationContext extends InvocationHookContext {
  result: unknown = null;
  error: unknown = null;
}

/** Hooks may change level and message of lines that the app wrote. */
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
