import { CollectionDefinition } from '@drover/contracts';
import { checkDefinition } from './check-definition.js';
import { shapeProblems, type DefinitionProblem } from './shape-problems.js';
import { normalizeDefinition } from './normalize.js';

type Definitions = ReadonlyMap<string, CollectionDefinition>;

/** A problem of one of several definitions. */
export interface SetProblem extends DefinitionProblem {
  /** Position of the definition among the inputs. */
  readonly index: number;
}

export type CheckedDefinitions =
  | { readonly definitions: readonly CollectionDefinition[] }
  | { readonly problems: readonly SetProblem[] };

/**
 * Checks definitions that are to be stored together and may refer to each other. `stored` are all collections of the tenant. Also
 * checks that the stored collections that refer to these still fit: a rollup needs the field that it adds up.
 */
export function checkDefinitions(
  inputs: readonly unknown[],
  stored: Definitions,
  { canEncrypt }: { readonly canEncrypt: boolean },
): CheckedDefinitions {
  const collections = withInputs(inputs, stored);
  const problems: SetProblem[] = [...namedTwice(inputs)];
  const definitions: CollectionDefinition[] = [];
  for (const [index, input] of inputs.entries()) {
    const checked = checkDefinition(input, { collections, before: stored.get(nameOf(input) ?? ''), canEncrypt });
    if ('definition' in checked) definitions.push(checked.definition);
    else problems.push(...checked.problems.map((problem) => ({ ...problem, index })));
  }
  if (problems.length === 0) problems.push(...brokenDependents(definitions, stored, canEncrypt));
  return problems.length > 0 ? { problems } : { definitions };
}

/** The collections of the tenant as they would be: definitions without the right shape are left out. */
function withInputs(inputs: readonly unknown[], stored: Definitions): Definitions {
  const collections = new Map(stored);
  for (const input of inputs) {
    const before = stored.get(nameOf(input) ?? '');
    const normalized = normalizeDefinition(input, before && new Set(before.fields.map(({ name }) => name)));
    if (shapeProblems(CollectionDefinition, normalized).length > 0) continue;
    const definition = normalized as CollectionDefinition; // its shape has just been checked
    collections.set(definition.name, definition);
  }
  return collections;
}

function namedTwice(inputs: readonly unknown[]): SetProblem[] {
  const names = inputs.map(nameOf);
  return names.flatMap((name, index) =>
    name !== undefined && names.indexOf(name) < index
      ? [{ index, pointer: '/name', message: `Another definition has the name "${name}". Keep one of them.` }]
      : [],
  );
}

/** A stored collection was right before: what is wrong with it now is the fault of a definition that it refers to. */
function brokenDependents(
  definitions: readonly CollectionDefinition[],
  stored: Definitions,
  canEncrypt: boolean,
): SetProblem[] {
  const collections = new Map([...stored, ...definitions.map((one) => [one.name, one] as const)]);
  const positions = new Map(definitions.map(({ name }, index) => [name, index]));
  const dependents = [...stored.values()].filter(({ name }) => !positions.has(name));
  return dependents.flatMap((dependent) => {
    const index = dependent.fields
      .map(({ references, rollup }) => positions.get(references?.collection ?? rollup?.collection ?? ''))
      .find((position) => position !== undefined);
    if (index === undefined) return [];
    const context = { before: dependent, canEncrypt };
    const known = checkDefinition(dependent, { ...context, collections: stored });
    const checked = checkDefinition(dependent, { ...context, collections });
    const old = new Set('problems' in known ? known.problems.map(textOf) : []);
    const broken = 'problems' in checked ? checked.problems.filter((problem) => !old.has(textOf(problem))) : [];
    return broken.map(({ pointer, message }) => ({
      index,
      pointer: '',
      message: `Collection "${dependent.name}" refers to this one and would be invalid at ${pointer}: ${message} Change both together with PUT /control/collections.`,
    }));
  });
}

const textOf = ({ pointer, message }: DefinitionProblem): string => `${pointer} ${message}`;

function nameOf(input: unknown): string | undefined {
  if (typeof input !== 'object' || input === null || !('name' in input)) return undefined;
  return typeof input.name === 'string' ? input.name : undefined;
}
