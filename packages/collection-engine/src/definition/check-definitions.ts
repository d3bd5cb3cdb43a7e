import { CollectionDefinition } from '@drover/contracts';
import { withRenamedTargets } from '../model/renamed-targets.js';
import { checkDefinition, type DefinitionContext } from './check-definition.js';
import { shapeProblems, type DefinitionProblem } from './shape-problems.js';
import { normalizeDefinition, type PicklistValuesByName } from './normalize.js';

type Definitions = ReadonlyMap<string, CollectionDefinition>;

/** A problem of one of several definitions. */
export interface SetProblem extends DefinitionProblem {
  /** Position of the definition among the inputs. */
  readonly index: number;
}

export type CheckedDefinitions =
  | {
      readonly definitions: readonly CollectionDefinition[];
      /** Stored collections that refer to a renamed one, with its new name. They must be stored together with `definitions`. */
      readonly followers: readonly CollectionDefinition[];
    }
  | { readonly problems: readonly SetProblem[] };

/**
 * Checks definitions that are to be stored together and may refer to each other. `stored` are all collections of the tenant. Also
 * checks that the stored collections that refer to these still fit: a rollup needs the field that it adds up.
 */
export function checkDefinitions(
  inputs: readonly unknown[],
  stored: Definitions,
  { canEncrypt, picklists }: { readonly canEncrypt: boolean; readonly picklists?: PicklistValuesByName | undefined },
): CheckedDefinitions {
  const shaped = shapedInputs(inputs, stored, picklists);
  const followers = followersOf(shaped, stored);
  const collections = afterwards(shaped, followers, stored);
  const problems: SetProblem[] = [...namedTwice(inputs, nameOf), ...namedTwice(shaped, (one) => one?.formerName)];
  const definitions: CollectionDefinition[] = [];
  for (const [index, input] of inputs.entries()) {
    const checked = checkDefinition(input, {
      collections,
      before: versionBefore(input, stored),
      canEncrypt,
      picklists,
    });
    if ('definition' in checked) definitions.push(checked.definition);
    else problems.push(...checked.problems.map((problem) => ({ ...problem, index })));
  }
  if (problems.length === 0)
    problems.push(...brokenDependents(definitions, { stored, collections, canEncrypt, picklists }));
  return problems.length > 0 ? { problems } : { definitions, followers };
}

/** The stored collection that a definition continues: that of its name, or of its former one. */
function versionBefore(input: unknown, stored: Definitions): CollectionDefinition | undefined {
  return stored.get(nameOf(input) ?? '') ?? stored.get(textIn(input, 'formerName') ?? '');
}

/** The inputs in the form that is stored; undefined for those without the right shape. */
function shapedInputs(
  inputs: readonly unknown[],
  stored: Definitions,
  picklists: PicklistValuesByName | undefined,
): readonly (CollectionDefinition | undefined)[] {
  return inputs.map((input) => {
    const normalized = normalizeDefinition(input, versionBefore(input, stored), stored, picklists);
    if (shapeProblems(CollectionDefinition, normalized).length > 0) return undefined;
    return normalized as CollectionDefinition; // its shape has just been checked
  });
}

function followersOf(
  shaped: readonly (CollectionDefinition | undefined)[],
  stored: Definitions,
): readonly CollectionDefinition[] {
  const renames = new Map(shaped.flatMap((one) => (one?.formerName === undefined ? [] : [[one.formerName, one.name]])));
  const given = new Set(shaped.flatMap((one) => [one?.name, one?.formerName]));
  return [...stored.values()].flatMap((definition) => {
    if (given.has(definition.name)) return [];
    const renamed = withRenamedTargets(definition, renames);
    return renamed === definition ? [] : [renamed];
  });
}

/** The collections of the tenant as they would be: definitions without the right shape are left out. */
function afterwards(
  shaped: readonly (CollectionDefinition | undefined)[],
  followers: readonly CollectionDefinition[],
  stored: Definitions,
): Definitions {
  const collections = new Map(stored);
  for (const one of shaped) {
    if (one?.formerName !== undefined && !stored.has(one.name)) collections.delete(one.formerName);
  }
  for (const one of [...followers, ...shaped]) if (one) collections.set(one.name, one);
  return collections;
}

function namedTwice<T>(inputs: readonly T[], nameIn: (input: T) => string | undefined): SetProblem[] {
  const names = inputs.map(nameIn);
  return names.flatMap((name, index) =>
    name !== undefined && names.indexOf(name) < index
      ? [{ index, pointer: '/name', message: `Another definition has the name "${name}". Keep one of them.` }]
      : [],
  );
}

/** A stored collection was right before: what is wrong with it now is the fault of a definition that it refers to. */
function brokenDependents(
  definitions: readonly CollectionDefinition[],
  { stored, collections, ...context }: Omit<DefinitionContext, 'before'> & { readonly stored: Definitions },
): SetProblem[] {
  const positions = new Map(definitions.map(({ name }, index) => [name, index]));
  const dependents = [...collections.values()].filter(({ name }) => !positions.has(name));
  return dependents.flatMap((dependent) => {
    const index = dependent.fields
      .map(({ references, rollup }) => positions.get(references?.collection ?? rollup?.collection ?? ''))
      .find((position) => position !== undefined);
    if (index === undefined) return [];
    const before = stored.get(dependent.name) ?? dependent;
    const known = checkDefinition(before, { ...context, before, collections: stored });
    const checked = checkDefinition(dependent, { ...context, before, collections });
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

const nameOf = (input: unknown): string | undefined => textIn(input, 'name');

function textIn(input: unknown, property: 'name' | 'formerName'): string | undefined {
  if (typeof input !== 'object' || input === null) return undefined;
  const value = (input as Readonly<Record<string, unknown>>)[property]; // any property of an object is unknown
  return typeof value === 'string' ? value : undefined;
}
