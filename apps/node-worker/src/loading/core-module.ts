import Module from 'node:module';
import type { AppSlot } from './app-slot.js';
import { Disposable } from './disposable.js';
import type {
  CoreFunctionMetadata,
  FunctionCallback,
  LogCategoryName,
  LogLevelName,
  ProgrammingModel,
} from './functions-core.js';
import type { HookCallback } from './hooks.js';

const coreModuleName = '@azure/functions-core';

export interface CoreModuleParts {
  readonly apps: AppSlot;
  readonly workerVersion: string;
  readonly hostVersion: () => string;
  readonly log: (level: LogLevelName, category: LogCategoryName, message: string) => void;
  /** What `getProgrammingModel` returns before an app has set a model. */
  readonly defaultModel: () => ProgrammingModel;
}

/** Creates the module that libraries load as `@azure/functions-core`. */
export function createCoreModule({ apps, workerVersion, hostVersion, log, defaultModel }: CoreModuleParts): object {
  return {
    version: workerVersion,
    get hostVersion() {
      return hostVersion();
    },
    registerFunction: (metadata: CoreFunctionMetadata, callback: FunctionCallback) =>
      apps.current.register(metadata, callback),
    registerHook: (name: string, callback: HookCallback) => apps.current.hooks.register(name, callback),
    setProgrammingModel: (model: ProgrammingModel) => apps.setModel(model),
    getProgrammingModel: () => apps.givenModel ?? defaultModel(),
    log,
    Disposable,
  };
}

interface CommonJsLoader {
  _load: (this: unknown, request: string, parent: unknown, isMain: boolean) => unknown;
}

/**
 * Makes `require('@azure/functions-core')` return the module, in every folder. Intercepting `require` is the only way: the
 * package is not published, and the libraries that load it are CommonJS even in an app of ES modules. Returns a function
 * that undoes it.
 */
export function provideCoreModule(core: object): () => void {
  // Not in the types of Node, but used by every tool that intercepts modules.
  const loader = Module as unknown as CommonJsLoader;
  const load = loader._load;
  loader._load = function loadOrProvide(request, parent, isMain) {
    return request === coreModuleName ? core : load.call(this, request, parent, isMain);
  };
  return () => {
    loader._load = load;
  };
}
