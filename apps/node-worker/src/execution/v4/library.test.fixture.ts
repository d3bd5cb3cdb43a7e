import { createRequire } from 'node:module';
import type * as azure from '@azure/functions';
import { AppSlot } from '../../loading/app-slot.js';
import { createCoreModule, provideCoreModule } from '../../loading/core-module.js';
import type { FunctionApp } from '../../loading/function-app.js';
import type { ProgrammingModel } from '../../loading/functions-core.js';

type Library = typeof azure;

/** Loads the library from npm, registers functions in it, and returns the model that it set. */
export function loadLibrary(register: (library: Library) => void): {
  readonly library: Library;
  readonly app: FunctionApp;
  readonly model: ProgrammingModel;
} {
  const apps = new AppSlot();
  const takeBack = provideCoreModule(
    createCoreModule({
      apps,
      workerVersion: 'test',
      hostVersion: () => '4',
      log: () => undefined,
      defaultModel: () => {
        throw new Error('no default');
      },
    }),
  );
  const require = createRequire(import.meta.url);
  const file = require.resolve('@azure/functions');
  try {
    const library = require(file) as Library; // the package says so
    register(library);
    const model = apps.current.programmingModel;
    if (!model) throw new Error('the library has set no model');
    return { library, app: apps.current, model };
  } finally {
    takeBack();
    delete require.cache[file];
  }
}
