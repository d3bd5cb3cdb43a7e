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

export const coreModuleName = '@azure/functions-core';

export interface CoreModuleParts {
  readonly apps: AppSlot;
  readonly workerVersion: string;
  readonly hostVersion: () => string;
  readonly log: (level: LogLevelName, category: LogCategoryName, message: string) => void;
  /** What `getProgrammingModel` says before an app has set one. */
  readonly defaultModel: () => ProgrammingModel;
}

/** The module that libraries find under the name `@azure/functions-core` and nowhere else. */
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
 * Makes `require('@azure/functions-core')` return the module, from whatever folder. There is no other door: the package is
 * published nowhere, and libraries that ask for it are CommonJS, also below an app of ES modules. Returns what takes it back.
 */
export function provideCoreModule(core: object): () => void {
  // Not in the types of Node, and what every tool that intercepts modules relies on.
  const loader = Module as unknown as CommonJsLoader;
  const load = loader._load;
  loader._load = function loadOrProvide(request, parent, isMain) {
    return request === coreModuleName ? core : load.call(this, request, parent, isMain);
  };
  return () => {
    loader._load = load;
  };
}
