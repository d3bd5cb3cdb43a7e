import type { ProgrammingModel } from '../../loading/functions-core.js';
import { LegacyInvocationModel } from './legacy-invocation-model.js';

/** How functions of the v3 kind are written: folders with a function.json, and a function of `(context, ...inputs)`. */
export const legacyModel: ProgrammingModel = {
  name: '@azure/functions',
  version: '3.5.1',
  getInvocationModel: (context) => new LegacyInvocationModel(context),
};
