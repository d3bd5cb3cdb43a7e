import type { ProgrammingModel } from '../../loading/functions-core.js';
import { LegacyInvocationModel } from './legacy-invocation-model.js';

/** The v3 programming model: folders with a function.json, and functions of `(context, ...inputs)`. */
export const legacyModel: ProgrammingModel = {
  name: '@azure/functions',
  version: '3.5.1',
  getInvocationModel: (context) => new LegacyInvocationModel(context),
};
