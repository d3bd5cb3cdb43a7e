import { defineError } from '@drover/contracts';
import type { DefinitionProblem } from './shape-problems.js';

export const collectionDefinitionInvalid = defineError<{
  collection: string;
  problems: readonly DefinitionProblem[];
}>('COLLECTION_DEFINITION_INVALID', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: (d) =>
    `The definition of collection "${d.collection}" is invalid: ${d.problems.map(({ pointer, message }) => `${pointer || '/'}: ${message}`).join(' ')}`,
  help: 'Change what each of `problems` says; `pointer` is its place in the definition, as a JSON pointer.',
});

export const definitionErrors = [collectionDefinitionInvalid];
