import { CollectionDefinition, type FieldDefinition } from '@drover/contracts';
import type { CollectionModel } from '../model/collection-model.js';
import { compileCollection } from '../model/compile-collection.js';
import { checkComputed } from './check-computed.js';
import { checkField, checkIdentifier, notIndexable } from './check-field.js';
import { checkRelations, unknownName, type Collections } from './check-relations.js';
import { shapeProblems, type DefinitionProblem } from './shape-problems.js';
import { checkPicklists } from './check-picklists.js';
import { normalizeDefinition, type PicklistValuesByName } from './normalize.js';

export interface DefinitionContext {
  /** Other collections of the tenant by name, and those that will be stored together with this one. */
  readonly collections: Collections;
  /** The version before; undefined for a new collection. */
  readonly before: CollectionDefinition | undefined;
  /** Whether the platform has the key that ENCRYPTED fields need. */
  readonly canEncrypt: boolean;
  readonly picklists?: PicklistValuesByName | undefined;
}

export type CheckedDefinition =
  | { readonly definition: CollectionDefinition }
  | { readonly problems: readonly DefinitionProblem[] };

/** Paths of the records API that are no collections. */
const reservedCollectionNames: ReadonlySet<string> = new Set(['operations', '_search']);

/**
 * Checks a definition as a user wrote it. Returns it in the form that is stored, or all that is wrong with it: each problem has a
 * JSON pointer into the input and says what to do.
 */
export function checkDefinition(input: unknown, context: DefinitionContext): CheckedDefinition {
  const normalized = normalizeDefinition(input, context.before, context.collections, context.picklists);
  const misshapen = shapeProblems(CollectionDefinition, normalized);
  if (misshapen.length > 0) return { problems: [...misshapen, ...checkShapedFields(normalized, misshapen)] };
  const definition = normalized as CollectionDefinition; // its shape has just been checked
  const problems = checkContents(definition, context);
  return problems.length > 0 ? { problems } : { definition };
}

/** Also checks the fields whose shape is right, so that one answer names all that can be known. */
function checkShapedFields(normalized: unknown, misshapen: readonly DefinitionProblem[]): DefinitionProblem[] {
  const { fields } = (normalized ?? {}) as { readonly fields?: unknown };
  if (!Array.isArray(fields)) return [];
  const isShaped = (index: number): boolean =>
    !misshapen.some(({ pointer }) => pointer === '/fields' || `${pointer}/`.startsWith(`/fields/${index}/`));
  return fields.flatMap((field: FieldDefinition, index) => {
    const model = isShaped(index) && modelOf({ name: 'a', fields: [field] }).fields.get(field.name);
    return model ? checkField(model, `/fields/${index}`) : [];
  });
}

const modelOf = (definition: CollectionDefinition): CollectionModel =>
  compileCollection({ id: '', tenantId: '', version: 1, definition, table: '', columns: {} });

function checkContents(definition: CollectionDefinition, context: DefinitionContext): DefinitionProblem[] {
  const model = modelOf(definition);
  const collections = new Map([...context.collections, [definition.name, definition]]);
  const fields = definition.fields.map((field) => ({ field, model: model.fields.get(field.name) }));
  return [
    ...checkIdentifier(definition.name, '/name'),
    ...(reservedCollectionNames.has(definition.name)
      ? [{ pointer: '/name', message: `"/api/${definition.name}" is a path of the platform. Choose another name.` }]
      : []),
    ...fields.flatMap(({ model: field }, index) => (field ? checkField(field, `/fields/${index}`) : [])),
    ...checkFormerName(definition, context),
    ...checkFieldNames(definition, context),
    ...checkEncryption(definition, context),
    ...checkPicklists(model, context.picklists),
    ...checkSets(definition, model),
    ...checkNamedFields(definition, model),
    ...checkRelations(definition, collections),
    ...checkComputed(model, collections, modelOf),
  ];
}

function checkFormerName(
  { name, formerName }: CollectionDefinition,
  { before }: DefinitionContext,
): DefinitionProblem[] {
  if (formerName === undefined || before?.name === formerName) return [];
  const message = `Your tenant already has a collection "${name}", so "${formerName}" cannot get its name. Choose another one.`;
  return [{ pointer: '/formerName', message }];
}

function checkFieldNames({ fields }: CollectionDefinition, { before }: DefinitionContext): DefinitionProblem[] {
  const known = new Set(before?.fields.map(({ name }) => name));
  const taken = new Set<string>();
  const former = new Set<string>();
  return fields.flatMap(({ name, formerName }, index) => {
    const problems: DefinitionProblem[] = [];
    if (taken.has(name)) {
      problems.push({ pointer: `/fields/${index}/name`, message: `Another field is named "${name}". Rename one.` });
    }
    taken.add(name);
    if (formerName === undefined) return problems;
    const pointer = `/fields/${index}/formerName`;
    if (!known.has(formerName)) {
      problems.push({ pointer, message: unknownName('In the version before, field', formerName, known) });
    } else if (known.has(name)) {
      const message = `The version before already has a field "${name}". Remove that field in a version of its own.`;
      problems.push({ pointer, message });
    } else if (former.has(formerName) || fields.some((field) => field.name === formerName)) {
      problems.push({ pointer, message: `Another field continues "${formerName}". Only one can.` });
    }
    former.add(formerName);
    return problems;
  });
}

function checkEncryption({ fields }: CollectionDefinition, { canEncrypt }: DefinitionContext): DefinitionProblem[] {
  if (canEncrypt) return [];
  return fields.flatMap(({ type }, index) =>
    type === 'ENCRYPTED'
      ? [
          {
            pointer: `/fields/${index}/type`,
            message: 'The platform has no key to encrypt values with. Set DROVER_SECRETS_KEY of all its processes.',
          },
        ]
      : [],
  );
}

function checkSets({ uniqueSets = [], indexes = [] }: CollectionDefinition, model: CollectionModel) {
  const check = (list: 'uniqueSets' | 'indexes', sets: readonly (readonly string[])[]): DefinitionProblem[] =>
    sets.flatMap((names, set) =>
      names.flatMap((name, position) => {
        const field = model.fields.get(list === 'indexes' ? name.replace(/^-/, '') : name);
        const reason = field ? notIndexable(field) : unknownName('Field', name, model.fields.keys());
        return reason === undefined ? [] : [{ pointer: `/${list}/${set}/${position}`, message: reason }];
      }),
    );
  return [...check('uniqueSets', uniqueSets), ...check('indexes', indexes)];
}

/** Checks the names of fields that other parts of the definition use. */
function checkNamedFields(definition: CollectionDefinition, { fields }: CollectionModel): DefinitionProblem[] {
  const { displayField, validationRules = [] } = definition;
  const problems: DefinitionProblem[] = [];
  const need = (name: string | undefined, pointer: string): void => {
    if (name !== undefined && !fields.has(name)) {
      problems.push({ pointer, message: unknownName('Field', name, fields.keys()) });
    }
  };
  need(displayField, '/displayField');
  const rules = new Set<string>();
  for (const [index, { name, errorField }] of validationRules.entries()) {
    if (rules.has(name)) {
      problems.push({ pointer: `/validationRules/${index}/name`, message: `Another rule is named "${name}".` });
    }
    rules.add(name);
    need(errorField, `/validationRules/${index}/errorField`);
  }
  for (const [index, { currency }] of definition.fields.entries()) {
    const pointer = `/fields/${index}/currency/codeField`;
    need(currency?.codeField, pointer);
    const type = fields.get(currency?.codeField ?? '')?.type;
    if (type === undefined || type === 'STRING' || type === 'PICKLIST') continue;
    problems.push({ pointer, message: `The code of a currency is a STRING or a PICKLIST, not ${type}.` });
  }
  return problems;
}
